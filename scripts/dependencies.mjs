import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Failure } from "./failure.mjs";
import { countPackages, withProgress } from "./progress.mjs";
import { capture } from "./run.mjs";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The pinned Node, which runs everything, whichever Node started this script. */
export const NODE = join(ROOT, "node_modules/node/bin/node");

/** npm's record of what it has installed. npm writes it last, so an interrupted installation has none. */
const RECORD = join(ROOT, "node_modules/.package-lock.json");

const LOCK = join(ROOT, "package-lock.json");

/** Whether node_modules matches package-lock.json. */
export function dependenciesInstalled() {
  if (!existsSync(RECORD) || !existsSync(NODE)) return false;
  const installed = packagesOf(RECORD);
  // The project itself is not in npm's record.
  const { "": _, ...wanted } = packagesOf(LOCK);
  return (
    Object.entries(wanted).every(([path, entry]) => isIn(installed, path, entry)) &&
    Object.keys(installed).every((path) => path in wanted)
  );
}

export async function installDependencies(say) {
  say(`Installing dependencies (${existsSync(RECORD) ? "they have changed" : "first run"}) …`);
  const [command, ...args] = npmCommand();
  const packages = packagesOf(LOCK);
  const { code, output } = await withProgress(
    (seconds) => {
      const { present, expected } = countPackages(ROOT, packages);
      return `Installing dependencies: ${present} of ${expected} packages, ${seconds} s …`;
    },
    // Warnings, such as that this Node is old, would hide why it fails: it needs no newer one.
    () => capture(command, [...args, "ci", "--loglevel=error"], { cwd: ROOT }).catch(noNpm),
  );
  if (code !== 0) throw new Failure(`${output}Cannot install the dependencies: npm ci failed.`);
  if (!existsSync(NODE)) {
    throw new Failure(
      `${output}npm ci left out ${NODE}, which the install script of the package "node" brings. ` +
        "If npm is told to ignore install scripts, run: npm rebuild node --ignore-scripts=false",
    );
  }
}

/** Runs npm with the current Node: the one in node_modules is about to be replaced. */
export function npmCommand() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env;
  return script?.endsWith("npm-cli.js") && node !== undefined ? [node, script] : ["npm"];
}

function noNpm(error) {
  throw new Failure(`Cannot start npm (${error.message}). Install Node.js with npm.`);
}

/** Optional packages may be missing, depending on the platform. */
function isIn(installed, path, { version, integrity, optional }) {
  const found = installed[path];
  if (found === undefined) return optional === true;
  return found.version === version && found.integrity === integrity;
}

function packagesOf(lockfile) {
  return JSON.parse(readFileSync(lockfile, "utf8")).packages;
}

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
const RECORD = "node_modules/.package-lock.json";

export function dependenciesInstalled() {
  return existsSync(NODE) && isInstalled(ROOT);
}

/** Whether a folder's node_modules matches its package-lock.json. */
export function isInstalled(folder) {
  if (!existsSync(join(folder, RECORD))) return false;
  const installed = packagesOf(join(folder, RECORD));
  // The folder's own package is not in npm's record.
  const { "": _, ...wanted } = lockedPackages(folder);
  return (
    Object.entries(wanted).every(([path, entry]) => isIn(installed, path, entry)) &&
    Object.keys(installed).every((path) => path in wanted)
  );
}

export async function installDependencies(say) {
  const isFirst = !existsSync(join(ROOT, RECORD));
  say(`Installing dependencies (${isFirst ? "first run" : "they have changed"}) …`);
  const packages = lockedPackages(ROOT);
  const output = await withProgress(
    (seconds) => {
      const { present, expected } = countPackages(ROOT, packages);
      return `Installing dependencies: ${present} of ${expected} packages, ${seconds} s …`;
    },
    () => npmCi(ROOT, "the dependencies"),
  );
  if (!existsSync(NODE)) {
    throw new Failure(
      `${output}npm ci left out ${NODE}, which the install script of the package "node" brings. ` +
        "If npm is told to ignore install scripts, run: npm rebuild node --ignore-scripts=false",
    );
  }
}

/** Installs what a folder's package-lock.json lists. Resolves to what npm has said. */
export async function npmCi(folder, what, env = process.env) {
  const [command, ...args] = npmCommand();
  // Warnings, such as that this Node is old, would hide why it fails: it needs no newer one.
  const ci = [...args, "ci", "--loglevel=error"];
  const { code, output } = await capture(command, ci, { cwd: folder, env }).catch(noNpm);
  if (code !== 0) throw new Failure(`${output}Cannot install ${what}: npm ci failed.`);
  return output;
}

/** Runs npm with the current Node: the one in node_modules is about to be replaced. */
function npmCommand() {
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

function lockedPackages(folder) {
  return packagesOf(join(folder, "package-lock.json"));
}

function packagesOf(lockfile) {
  return JSON.parse(readFileSync(lockfile, "utf8")).packages;
}

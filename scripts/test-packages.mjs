import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { npmCommand, ROOT } from "./dependencies.mjs";
import { Failure } from "./failure.mjs";
import { withLock } from "./lock.mjs";
import { capture } from "./run.mjs";

/**
 * Folders with packages that `npm test` needs. They are installed before the tests: on a busy machine
 * that takes longer than a test may. Others are installed by the first test that needs them.
 */
export const TEST_PACKAGES = ["test/acp", "test/agent"];

export function missingTestPackages() {
  return TEST_PACKAGES.filter((folder) => !arePackagesInstalled(folder));
}

/** Installs the packages of a folder with a package.json and a lockfile of its own, unless they are there. */
export async function installTestPackages(folder) {
  if (arePackagesInstalled(folder)) return;
  const name = folder.replaceAll(/\W/g, "-");
  await withLock(join(ROOT, `.cache/packages-${name}.lock`), async () => {
    if (!arePackagesInstalled(folder)) await npmCi(folder);
  });
}

/** npm writes down last what it has installed. */
function arePackagesInstalled(folder) {
  const record = join(ROOT, folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  const { "": _, ...wanted } = packagesOf(join(ROOT, folder, "package-lock.json"));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      installed[path]?.version === version || (optional === true && !(path in installed)),
  );
}

async function npmCi(folder) {
  const [command, ...args] = npmCommand();
  // The folder's own settings are in force, not those that `npm test` was started with.
  const env = Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key));
  const { code, output } = await capture(command, [...args, "ci"], {
    cwd: join(ROOT, folder),
    env: Object.fromEntries(env),
  });
  if (code !== 0) throw new Failure(`Cannot install ${folder}: npm ci failed.\n${output}`);
}

function packagesOf(lockfile) {
  return JSON.parse(readFileSync(lockfile, "utf8")).packages;
}

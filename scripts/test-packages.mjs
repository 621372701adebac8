import { join } from "node:path";
import { isInstalled, npmCi, ROOT } from "./dependencies.mjs";
import { withLock } from "./lock.mjs";

/**
 * Folders with packages that `npm test` needs. They are installed before the tests: on a busy machine
 * that takes longer than a test may. Others are installed by the first test that needs them.
 */
export const TEST_PACKAGES = ["test/acp", "test/agent"];

export function missingTestPackages() {
  return TEST_PACKAGES.filter((folder) => !isInstalled(join(ROOT, folder)));
}

/** Installs the packages of a folder with a package.json and a lockfile of its own, unless they are there. */
export async function installTestPackages(folder) {
  const path = join(ROOT, folder);
  if (isInstalled(path)) return;
  // The folder's own settings are in force, not those that `npm test` was started with.
  const env = Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key));
  const name = folder.replaceAll(/\W/g, "-");
  await withLock(join(ROOT, `.cache/packages-${name}.lock`), async () => {
    if (!isInstalled(path)) await npmCi(path, `the packages of ${folder}`, Object.fromEntries(env));
  });
}

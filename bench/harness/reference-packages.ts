import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "..");

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/**
 * Installs the packages that Trunkline is compared with. Returns the reason if they cannot be used.
 */
export function installReferencePackages(isOffline: boolean): string | undefined {
  if (isInstalled()) return undefined;
  if (isOffline) return "its package is not installed, and --offline forbids to install it";
  process.stderr.write("Installing what the bench measures against, into bench/node_modules …\n");
  const { status, error, stderr } = spawnSync("npm", ["ci", "--ignore-scripts"], {
    cwd: FOLDER,
    encoding: "utf8",
  });
  if (error !== undefined) return `npm could not be started: ${error.message}`;
  return status === 0 ? undefined : `npm ci in bench/ failed: ${stderr.trim()}`;
}

/** npm writes its own record last: an interrupted installation has none. */
function isInstalled(): boolean {
  const record = join(FOLDER, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  const { "": _, ...wanted } = packagesOf(join(FOLDER, "package-lock.json"));
  return Object.entries(wanted).every(
    ([path, { version }]) => installed[path]?.version === version,
  );
}

function packagesOf(file: string): Lock["packages"] {
  return (JSON.parse(readFileSync(file, "utf8")) as Lock).packages;
}

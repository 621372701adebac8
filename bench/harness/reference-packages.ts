import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const BENCH = join(import.meta.dirname, "..");

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/**
 * Installs the packages that Trunkline is compared with, which a folder names. Returns the reason if they
 * cannot be used.
 */
export function installReferencePackages(isOffline: boolean, within = ""): string | undefined {
  const folder = join(BENCH, within);
  if (isInstalled(folder)) return undefined;
  if (isOffline) return "its package is not installed, and --offline forbids to install it";
  const into = join("bench", within, "node_modules");
  process.stderr.write(`Installing what the bench measures against, into ${into} …\n`);
  const { status, error, stderr } = spawnSync("npm", ["ci", "--ignore-scripts"], {
    cwd: folder,
    encoding: "utf8",
  });
  if (error !== undefined) return `npm could not be started: ${error.message}`;
  return status === 0 ? undefined : `npm ci for ${into} failed: ${stderr.trim()}`;
}

/** npm writes its own record last: an interrupted installation has none. */
function isInstalled(folder: string): boolean {
  const record = join(folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  const { "": _, ...wanted } = packagesOf(join(folder, "package-lock.json"));
  return Object.entries(wanted).every(
    ([path, { version }]) => installed[path]?.version === version,
  );
}

function packagesOf(file: string): Lock["packages"] {
  return (JSON.parse(readFileSync(file, "utf8")) as Lock).packages;
}

import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
/** Not beside the lock: what is installed there has test files of its own. */
const FOLDER = join(ROOT, ".cache/upstream");
const FILES = ["package.json", "package-lock.json", ".npmrc"];
const PROGRAM = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/** How to start the reference server of the protocol's own people, which has some of everything. */
export const EVERYTHING = {
  command: process.execPath,
  args: [join(FOLDER, PROGRAM)],
} as const;

/** How to start another of their servers, such as "filesystem". */
export function referenceServer(name: "filesystem" | "memory", ...args: readonly string[]) {
  const program = `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;
  return { command: process.execPath, args: [join(FOLDER, program), ...args] } as const;
}

/** Fetches them when they are not there. Resolves to why it cannot be had, or to false. */
export async function everythingIsMissing(): Promise<string | false> {
  if (isInstalled()) return false;
  // Test files run side by side, and one installation serves them all.
  const lock = new URL("../../scripts/lock.mjs", import.meta.url).href;
  const { withLock } = (await import(lock)) as {
    withLock: <T>(folder: string, work: () => Promise<T>) => Promise<T>;
  };
  return withLock(join(ROOT, ".cache/upstream.lock"), async () => !isInstalled() && install());
}

async function install(): Promise<string | false> {
  mkdirSync(FOLDER, { recursive: true });
  for (const file of FILES) copyFileSync(join(import.meta.dirname, file), join(FOLDER, file));
  try {
    await promisify(execFile)("npm", ["ci", "--ignore-scripts"], { cwd: FOLDER, timeout: 300_000 });
    return false;
  } catch (error) {
    const { message } = error as Error;
    return `the server could not be fetched; connect to a package registry. ${message}`;
  }
}

/** npm writes its own record last: an installation that was broken off has none. */
function isInstalled(): boolean {
  const record = join(FOLDER, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  const { "": _, ...wanted } = packagesOf(join(import.meta.dirname, "package-lock.json"));
  return Object.entries(wanted).every(
    ([path, { version }]) => installed[path]?.version === version,
  );
}

function packagesOf(file: string): Record<string, { readonly version?: string }> {
  const { packages } = JSON.parse(readFileSync(file, "utf8")) as {
    packages: Record<string, { version?: string }>;
  };
  return packages;
}

/** Processes that run the server and belong to this one, or to nobody any more. */
export async function serversLeft(): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "ppid,pid,args"]);
  const isOurs = (line: string): boolean => [process.pid, 1].includes(Number.parseInt(line, 10));
  return stdout.split("\n").filter((line) => line.includes(EVERYTHING.args[0]) && isOurs(line));
}

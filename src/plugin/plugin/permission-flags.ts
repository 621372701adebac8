import { existsSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";
import { readEndpoint } from "../../base/host-pattern.ts";
import { isLoopback } from "../../base/private-address.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { homeOf } from "../../base/process/environment.ts";

/** What a plugin may do that was approved when it was added. All else is denied. */
export interface PluginPermissions {
  /** Tools of others that it may call. */
  readonly tools?: readonly string[];
  /** Files and folders that it may read, and write, besides its own package. */
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** Whether it may start programs. */
  readonly run?: boolean;
  /** Hosts that it may reach, besides the bus: `HOST`, `*.HOST`, `HOST:PORT`. */
  readonly hosts?: readonly string[];
}

/** The paths that a plugin may use. */
export interface PermittedPaths {
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** What Node itself looks at when it starts a plugin. */
const NODE_READS = ["/proc/self/stat"];

/**
 * What Node's permission model leaves open. Its SQLite opens any file. A signal makes another Node
 * process of the same user listen for a debugger, which can have it run anything.
 */
const NO_SQLITE = "--no-experimental-sqlite";
const NO_SIGNALS =
  "--import=data:text/javascript," +
  encodeURIComponent('for (const name of ["kill", "_kill", "_debugProcess"]) delete process[name]');

/** The paths that a plugin may use. Throws where a link in its package leads to others. */
export async function permittedPaths(
  { read = [], write = [] }: PluginPermissions,
  module: string,
  certsDir: string,
): Promise<PermittedPaths> {
  for (const path of [...read, ...write]) refuseUnclear(path);
  const own = packageOf(realpathSync(module), certsDir);
  const reads = [...new Set([...packagesOf(own), certsDir, ...NODE_READS, ...read, ...write])];
  await refuseLinksOut(own, reads);
  return { read: reads, write };
}

/**
 * The flags that make Node enforce what a plugin may do with files and programs: its permission model.
 * It has the network, since it reaches the bus by it: Node can only allow all of it, or nothing.
 */
export function permissionFlags({ read, write }: PermittedPaths, run = false): string[] {
  return [
    ...["--no-warnings", "--permission", "--allow-net", NO_SQLITE],
    ...read.map((path) => `--allow-fs-read=${path}`),
    ...write.map((path) => `--allow-fs-write=${path}`),
    ...(run ? ["--allow-child-process"] : [NO_SIGNALS]),
  ];
}

/** The lowest port that a program without rights can listen at. */
const LOWEST_PORT = 1024;

/**
 * Ports of this machine among the approved hosts. Throws where one cannot be limited to: of this machine,
 * a port has to be named, since what listens there trusts its user.
 */
export function portsOf(hosts: readonly string[]): ReadonlyMap<number, string> {
  const ports = new Map<number, string>();
  for (const text of hosts) {
    const { host, port } = readEndpoint(text) ?? {};
    const what = `Cannot limit what the plugin reaches to '${visibleLine(text)}'`;
    if (host === undefined) {
      const forms = "`api.example.org`, `*.example.org` or `api.example.org:8443`";
      throw new TrunklineError("untrusted", `${what}: write a host as ${forms}.`);
    }
    if (!isLoopback(new URL(`tcp://${host.includes(":") ? `[${host}]` : host}`))) continue;
    const isGood = ["localhost", "127.0.0.1"].includes(host) && (port ?? 0) >= LOWEST_PORT;
    if (!isGood || port === undefined) {
      const forms = `\`localhost:PORT\`, with a port from ${LOWEST_PORT} on`;
      throw new TrunklineError("untrusted", `${what}: it is this machine. Write it as ${forms}.`);
    }
    ports.set(port, host);
  }
  return ports;
}

/** Node takes `*` for everything, and a relative path from wherever the plugin is started. */
function refuseUnclear(path: string): void {
  if (isAbsolute(path) && !path.includes("*")) return;
  const what = `Cannot limit what the plugin does to '${path}'`;
  throw new TrunklineError("untrusted", `${what}: give an absolute path without '*'.`);
}

/** For a program that may look around and do nothing else, such as say what it is. */
export const LOOKING_ONLY: readonly string[] = [
  ...["--no-warnings", "--permission", "--allow-fs-read=*", NO_SQLITE, NO_SIGNALS],
];

/** The folders of a module's own code: its package, what is installed for it, and our SDK. */
function packagesOf(own: string): string[] {
  const folders = [own];
  for (let at = own; ; at = dirname(at)) {
    const installed = join(at, "node_modules");
    if (existsSync(installed)) folders.push(installed, ...sdkIn(installed));
    if (at === dirname(at)) return folders;
  }
}

/** Node follows links, wherever they lead: one in the package would open what it points to. */
async function refuseLinksOut(own: string, reads: readonly string[]): Promise<void> {
  if (!statSync(own).isDirectory()) return;
  const entries = await readdir(own, { recursive: true, withFileTypes: true });
  const allowed = reads.map(realPath);
  for (const entry of entries.filter((one) => one.isSymbolicLink())) {
    const link = join(entry.parentPath, entry.name);
    // What it leads to may come to be there later.
    const target = realPath(resolve(realPath(entry.parentPath), readlinkSync(link)));
    if (allowed.some((folder) => isInside(target, folder)) || isSdk(target)) continue;
    const what = `Cannot limit what the plugin reads: '${link}' is a link to '${target}'`;
    const next = "Remove the link, or add what it leads to under `permissions.read`";
    throw new TrunklineError("untrusted", `${what}, outside its package. ${next}.`);
  }
}

function isSdk(folder: string): boolean {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;
    return name === "trunkline";
  } catch {
    return false;
  }
}

interface Package {
  readonly name?: unknown;
}

/** A package that was installed from a folder is a link to it. */
function sdkIn(installed: string): string[] {
  const sdk = join(installed, "trunkline");
  return existsSync(sdk)
    ? [join(realpathSync(sdk), "dist"), join(realpathSync(sdk), "package.json")]
    : [];
}

/** A folder that holds the user's home, or what the bus keeps, is nobody's package. */
function packageOf(file: string, certsDir: string): string {
  const others = [homeOf(process.env), certsDir].map(realPath);
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    if (others.some((other) => isInside(other, at))) break;
    if (existsSync(join(at, "package.json"))) return at;
  }
  // A file that belongs to no package: that file, and none of its neighbours.
  return file;
}

import { existsSync, lstatSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { readEndpoint } from "../../base/host-pattern.ts";
import { isLoopback } from "../../base/private-address.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { homeOf } from "../../base/process/environment.ts";
import type { PluginPermissions } from "../../config/schema/schema.gen.ts";

// As the configuration has them: `settings-schema.ts` declares them.
export type { PluginPermissions };

/** The names of what a plugin provides; `*` for anything. */
export type ProvidedNames = NonNullable<PluginPermissions["provides"]>;

/** The namespace of the documents that plugins had before each had a namespace. No id is like it. */
export const SHARED = "/";

/** The command that asks a person what a plugin may do. */
export function approving(id: string): string {
  return `Run \`trunkline plugin approve ${id}\``;
}

/** Whether a sandbox keeps a plugin to its permissions. */
export function isLimited(permissions: PluginPermissions | undefined): boolean {
  return permissions !== undefined && permissions.everything !== true;
}

/** Whether a list of approved names has a name. */
export function covers(approved: readonly string[], name: string): boolean {
  return approved.includes(name) || approved.includes("*");
}

/** Whether a topic is in the namespace of a plugin: no id has a slash. */
export function isOwnTopic(id: string, topic: string): boolean {
  return topic === id || topic.startsWith(`${id}/`);
}

/** The paths that a plugin may use. */
export interface PermittedPaths {
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** The paths that a plugin may use. `files` are its code, `certsDir` what the bus gives it. */
export function permittedPaths(
  { read = [], write = [] }: PluginPermissions,
  files: readonly string[],
  certsDir: string,
): PermittedPaths {
  for (const path of [...read, ...write]) refuseUnclear(path);
  const code = files.flatMap((file) => codePaths(file, certsDir));
  return { read: [...new Set([...code, certsDir, ...read])], write };
}

/** The paths of a program's own code: its package, what is installed for it, and our SDK. */
export function codePaths(file: string, ...notOwn: string[]): string[] {
  // A program of the system, which a sandbox has.
  if (!isAbsolute(file)) return [];
  const own = packageOf(realpathSync(file), notOwn);
  const folders = [own];
  for (let at = own; ; at = dirname(at)) {
    const installed = join(at, "node_modules");
    // A link, which a stranger may have placed, would be followed to anything.
    const isThere = existsSync(installed) && lstatSync(installed).isDirectory();
    if (isThere) folders.push(installed, ...sdkIn(installed));
    if (at === dirname(at)) return folders;
  }
}

/** The lowest port that a program without rights can listen at. */
const LOWEST_PORT = 1024;

/**
 * Ports of this machine among the approved hosts. Throws for a host that a sandbox cannot enforce. A host of
 * this machine needs a port, because other programs that listen there trust its user.
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

/**
 * A relative path would count from wherever the plugin is started. A link may have been made by the plugin,
 * or come with its package, and lead to what nobody has approved.
 */
function refuseUnclear(path: string): void {
  const what = `Cannot limit what the plugin does to '${path}'`;
  if (!isAbsolute(path) || path.includes("*")) {
    throw new TrunklineError("untrusted", `${what}: give an absolute path without '*'.`);
  }
  const real = realPath(path);
  if (real === resolve(path)) return;
  throw new TrunklineError(
    "untrusted",
    `${what}: it is a link to '${real}'. Approve that instead.`,
  );
}

/** A package that was installed from a folder is a link to it. One to anything else is not followed. */
function sdkIn(installed: string): string[] {
  const sdk = join(installed, "trunkline");
  if (!existsSync(sdk)) return [];
  const real = realpathSync(sdk);
  const parts = ["dist", "package.json"].map((name) => join(real, name));
  // A stranger's package may call itself so, and have a link to anything in there.
  return isSdk(real) ? parts.filter((path) => realPath(path) === path) : [];
}

const MOST_PACKAGE = 1024 * 1024;

function isSdk(folder: string): boolean {
  try {
    const text = readRegularFile(join(folder, "package.json"), { most: MOST_PACKAGE })?.toString();
    return (JSON.parse(text ?? "{}") as { readonly name?: unknown }).name === "trunkline";
  } catch {
    return false;
  }
}

/** A folder that holds the user's home, or what the bus keeps, is nobody's package. */
function packageOf(file: string, notOwn: readonly string[]): string {
  const others = [homeOf(process.env), ...notOwn].map(realPath);
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    if (others.some((other) => isInside(other, at))) break;
    if (existsSync(join(at, "package.json"))) return at;
  }
  // A file that belongs to no package: that file, and none of its neighbours.
  return file;
}

import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { fileWords, TrunklineError } from "../base/errors.ts";
import { usualVariables } from "../base/process/environment.ts";
import { LastWords } from "../base/process/stderr-log.ts";
import { LOOKING_ONLY, type PluginPermissions } from "./plugin/permission-flags.ts";
import type { PermissionRequest } from "./sdk/definition.ts";

/** How a plugin is started. */
export interface PluginProgram {
  readonly command: string;
  readonly args?: readonly string[];
}

/** Programs that Node runs. */
const SCRIPTS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
/** Milliseconds in which a plugin has to print its manifest. */
const PATIENCE = 10_000;
const MOST_OUTPUT = 10 * 1024 * 1024;

/**
 * Finds the program of a plugin: a file, a folder with a package, or an npm package that is installed
 * above a folder or beside Node. Throws "not-found" with what to do.
 */
export function findPlugin(name: string, cwd: string, node = process.execPath): PluginProgram {
  const path = resolve(cwd, name);
  const stats = statSync(path, { throwIfNoEntry: false });
  const isPath = /^(?:\.|\/|~)/.test(name);
  if (stats?.isFile() === true) return programAt(path, node);
  if (stats?.isDirectory() === true) return programAt(entryOf(path), node);
  const found = isPath ? undefined : installed(name, cwd, node);
  if (found !== undefined) return programAt(entryOf(found), node);
  const next = isPath ? "There is no such file" : `Install it first: \`npm install ${name}\``;
  throw new TrunklineError("not-found", `Cannot find plugin '${name}'. ${next}.`);
}

/** The folder of an installed package. */
function installed(name: string, cwd: string, node: string): string | undefined {
  if (!/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name) || name.includes("..")) return undefined;
  const folders = [join(dirname(dirname(realpathSync(node))), "lib")];
  for (let at = resolve(cwd); ; at = dirname(at)) {
    folders.splice(-1, 0, at);
    if (at === dirname(at)) break;
  }
  return folders
    .map((folder) => join(folder, "node_modules", name))
    .find((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true);
}

interface Package {
  /** The plugin's program, relative to the package. */
  readonly trunkline?: unknown;
  readonly bin?: unknown;
}

/** The program of a package: its `trunkline`, its only `bin`, or `plugin.ts`, as new ones have it. */
function entryOf(folder: string): string {
  const described = join(folder, "package.json");
  let manifest: Package;
  try {
    manifest = JSON.parse(readFileSync(described, "utf8")) as Package;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") {
      throw unusable(folder, `its package.json cannot be read: ${fileWords(error, described)}`);
    }
    manifest = {};
  }
  const { trunkline, bin } = manifest;
  const bins = typeof bin === "object" && bin !== null ? Object.values(bin) : [bin];
  const named = [trunkline, bins.length === 1 ? bins[0] : undefined].find(
    (entry) => typeof entry === "string",
  );
  const file = join(folder, typeof named === "string" ? named : "plugin.ts");
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
  const says = "it has no `trunkline` or single `bin` in its package.json, and no plugin.ts";
  throw unusable(folder, typeof named === "string" ? `it has no file '${named}'` : says);
}

function programAt(file: string, node: string): PluginProgram {
  if (SCRIPTS.includes(extname(file))) return { command: node, args: [file] };
  try {
    accessSync(file, constants.X_OK);
  } catch (error) {
    throw unusable(file, "it is neither a script for Node nor a program that may be run", error);
  }
  return { command: file };
}

/** What a plugin says of itself before it is added. */
export interface AskedManifest {
  readonly id: string;
  readonly needs_tools?: readonly string[];
  readonly permissions?: PermissionRequest;
}

/**
 * Asks a plugin what it is. Nobody has approved it yet: a script may only read files then. One that
 * was not made with our SDK may not answer.
 */
export async function askManifest({ command, args = [] }: PluginProgram): Promise<AskedManifest> {
  const options = { env: usualVariables(), timeout: PATIENCE, maxBuffer: MOST_OUTPUT };
  const file = args.at(-1) ?? command;
  const first = command === process.execPath ? LOOKING_ONLY : [];
  let text: string;
  try {
    text = (await promisify(execFile)(command, [...first, ...args, "--manifest"], options)).stdout;
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    const words = new LastWords();
    for (const line of stderr.trim().split("\n")) words.add(line);
    const why = words.line || message;
    const next = stderr.includes("Cannot find package") ? INSTALL : GIVE_ID;
    throw unusable(file, `it does not print its manifest: ${why}. ${next}`, error);
  }
  const manifest = readManifest(text);
  if (manifest !== undefined) return manifest;
  throw unusable(file, `what it prints with --manifest is malformed or has no id. ${GIVE_ID}`);
}

/** Undefined where there is none: a plugin may print anything, also before it prints its manifest. */
function readManifest(text: string): AskedManifest | undefined {
  return manifestIn(text) ?? manifestIn(text.trim().split("\n").at(-1) ?? "");
}

function manifestIn(text: string): AskedManifest | undefined {
  try {
    const manifest = JSON.parse(text) as AskedManifest;
    const { id, needs_tools: tools, permissions = {} } = manifest;
    const { read, write, run = false, hosts } = permissions;
    const isGood = [tools, read, write, hosts].every(isTexts) && typeof run === "boolean";
    return isGood && typeof id === "string" && id !== "" ? manifest : undefined;
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** All that a plugin asks for; undefined where it declares no permissions. */
export function declaredPermissions({
  needs_tools: tools = [],
  permissions,
}: AskedManifest): PluginPermissions | undefined {
  if (permissions === undefined) return undefined;
  const { read = [], write = [], run = false, hosts = [] } = permissions;
  return {
    ...(tools.length === 0 ? {} : { tools }),
    ...(read.length === 0 ? {} : { read }),
    ...(write.length === 0 ? {} : { write }),
    ...(run ? { run } : {}),
    ...(hosts.length === 0 ? {} : { hosts }),
  };
}

const INSTALL = "Run `npm install` in its folder first";
const GIVE_ID = "If it is a plugin of another kind, give its id with --id";

function unusable(path: string, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("config", `Cannot use '${path}' as a plugin: ${why}.`, { cause });
}

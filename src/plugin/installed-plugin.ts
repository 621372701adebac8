import { realpathSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";

import { fileWords, TrunklineError } from "../base/errors.ts";
import { isExecutable, isInside } from "../base/file/path.ts";
import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";

/** The program of a plugin, as it is started. */
export interface FoundPlugin {
  /** Node, if the program is a script. */
  readonly command: string;
  readonly args: readonly string[];
  readonly file: string;
  /** Where its manifest is, if it has one as a file. */
  readonly folder: string;
}

/** Programs that Node runs. */
const SCRIPTS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
const MOST_PACKAGE = 1024 * 1024;

/**
 * Finds the program of a plugin: a file, a folder with a package, or an npm package that is installed
 * above a folder or beside Node. Throws "not-found" with what to do.
 */
export function findPlugin(name: string, cwd: string, node = process.execPath): FoundPlugin {
  const path = resolve(cwd, name);
  const stats = statSync(path, { throwIfNoEntry: false });
  const isPath = /^(?:\.|\/|~)/.test(name);
  if (stats?.isFile() === true) return programAt(path, node);
  const isFolder = stats?.isDirectory() === true;
  const folder = isFolder ? path : isPath ? undefined : installed(name, cwd, node);
  if (folder !== undefined) return { ...programAt(entryOf(folder), node), folder };
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
    const text = readRegularFile(described, { most: MOST_PACKAGE })?.toString() ?? "{}";
    manifest = (JSON.parse(text) ?? {}) as Package;
  } catch (error) {
    const why = error instanceof UnfitFileError ? error.message : fileWords(error, described);
    throw unusable(folder, `its package.json cannot be read: ${why}`);
  }
  const { trunkline, bin } = manifest;
  const bins = typeof bin === "object" && bin !== null ? Object.values(bin) : [bin];
  const named = [trunkline, bins.length === 1 ? bins[0] : undefined].find(
    (entry) => typeof entry === "string",
  );
  const file = join(folder, typeof named === "string" ? named : "plugin.ts");
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) {
    // A package cannot name a program outside of its folder.
    if (isInside(realpathSync(file), realpathSync(folder))) return file;
    throw unusable(folder, `its program '${file}' is not in it`);
  }
  const says = "it has no `trunkline` or single `bin` in its package.json, and no plugin.ts";
  throw unusable(folder, typeof named === "string" ? `it has no file '${named}'` : says);
}

function programAt(file: string, node: string): FoundPlugin {
  const found = { file, folder: dirname(file) };
  if (SCRIPTS.includes(extname(file))) return { ...found, command: node, args: [file] };
  if (!isExecutable(file)) {
    throw unusable(file, "it is neither a script for Node nor a program that may be run");
  }
  return { ...found, command: file, args: [] };
}

export function unusable(path: string, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("config", `Cannot use '${path}' as a plugin: ${why}.`, { cause });
}

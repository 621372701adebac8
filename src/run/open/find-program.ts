import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";

import { objectIn } from "../../base/check.ts";
import { attempt } from "../../base/attempt.ts";
import { isExecutable } from "../../base/file/path.ts";

export interface FoundProgram {
  readonly path: string;
  /** The paths that must be visible for it to run: its file, and its package. */
  readonly needs: readonly string[];
}

/** Finds a program as a shell would, and the files that it needs. */
export function findProgram(command: string, path: string): FoundProgram | undefined {
  const candidates = isAbsolute(command)
    ? [command]
    : path.split(delimiter).map((folder) => join(folder, command));
  const found = candidates.find((file) => isAbsolute(file) && isExecutable(file));
  if (found === undefined) return undefined;
  const real = realpathSync(found);
  return { path: found, needs: [...new Set([found, real, packageOf(real)])] };
}

/** The folder of an installed package with its dependencies, or else the folder of the file. */
function packageOf(file: string): string {
  let modules: string | undefined;
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    if (at.endsWith("/node_modules")) modules = at;
  }
  if (modules !== undefined) return modules;
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    if (isPackage(at)) return at;
  }
  return dirname(file);
}

/** Inside a package there may be a package.json without a name, which says how its folder is loaded. */
function isPackage(folder: string): boolean {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return false;
  const manifest = objectIn(attempt(() => readFileSync(file, "utf8")) ?? "");
  return manifest === undefined || manifest.name !== undefined;
}

import { accessSync, constants, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, parse, resolve, sep } from "node:path";

import { attempt } from "../attempt.ts";

/** The path with every symbolic link resolved. Its last parts need not exist. */
export function realPath(path: string): string {
  const whole = resolve(path);
  return attempt(() => realpathSync.native(whole)) ?? realBeginning(whole);
}

/**
 * Resolves the links of the part of a path that exists. It goes from the top, so that a made-up path of a
 * million parts, which a client may send, takes no longer than the folders that exist.
 */
function realBeginning(whole: string): string {
  let [real, known] = [parse(whole).root, parse(whole).root.length];
  for (let end = known; (end = whole.indexOf(sep, end)) !== -1; end++) {
    try {
      real = realpathSync.native(whole.slice(0, end));
      known = end;
    } catch {
      break;
    }
  }
  return join(real, whole.slice(known));
}

/** Whether a real path is a folder or lies in it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/**
 * Makes a folder and its parents, and returns the first that it made. Node's own function never returns
 * in a virtual folder such as `/proc`, and reports a read-only disk as a missing file.
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    if (isFolder(path)) return undefined;
    const above = dirname(path);
    // The parent exists, but nothing can be made in it.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || isFolder(above)) throw error;
    const first = makeFolder(above, mode);
    return makeFolder(path, mode) === undefined ? first : (first ?? path);
  }
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Whether this process may run a file as a program. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

import { mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Where a path leads once every link on it is followed. Its end need not be there. */
export function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync.native(whole);
  } catch {
    const above = dirname(whole);
    return above === whole ? whole : join(realPath(above), basename(whole));
  }
}

/** Whether a real path is a folder or lies in it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/**
 * Makes a folder and those above it; gives the first that was not there yet. Node's own way never
 * ends in a folder that the system makes up, such as `/proc`, where nothing can be made.
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    if (isFolder(path)) return undefined;
    const above = dirname(path);
    // What is above is there, and still nothing can be made in it.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || isFolder(above)) throw error;
    const first = makeFolder(above, mode);
    return makeFolder(path, mode) === undefined ? first : (first ?? path);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

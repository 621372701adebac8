import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

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

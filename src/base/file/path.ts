import { mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, parse, resolve, sep } from "node:path";

/** Where a path leads once every link on it is followed. Its end need not be there. */
export function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync.native(whole);
  } catch {
    return realBeginning(whole);
  }
}

/**
 * Follows the links of a path as far as it is there. From the top, so that it takes no longer than there
 * are folders: clients send paths, and may make up one of a million parts.
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
 * Makes a folder and those above it; gives the first that was not there yet. Node's own way never
 * ends in a folder that the system makes up, such as `/proc`, where nothing can be made, and says of
 * a read-only disk that there is no such file.
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

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

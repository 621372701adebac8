import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Where a path leads once every link on it is followed. Its end need not be there. */
export function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    const above = dirname(whole);
    return above === whole ? whole : join(realPath(above), basename(whole));
  }
}

/** Whether a real path is a folder or lies in it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

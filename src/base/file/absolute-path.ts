import { isAbsolute } from "node:path";

/**
 * The folders of a `PATH` that are the same wherever one is. By any other, a program would be looked
 * for in the folder that it is to run in: a repository can hold a file that is called `git`.
 */
export function absolutePath(path: string | undefined): string {
  const folders = (path ?? "").split(":").filter((folder) => isAbsolute(folder));
  return folders.length === 0 ? "/usr/local/bin:/usr/bin:/bin" : folders.join(":");
}

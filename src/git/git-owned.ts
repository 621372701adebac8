import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { hasDotGit } from "../base/file/repository-path.ts";

/** A folder with these entries is a repository to git (setup.c). */
const MARKS = ["HEAD", "objects", "refs"];

/**
 * Whether a path belongs to git itself: in `.git` under any name that a file system accepts for it,
 * or in another folder that git takes for a repository. A hook or a setting written there would run
 * with the next git command.
 */
export function isGitOwned(path: string): boolean {
  return hasDotGit(path) || isInGitFolder(path);
}

/** The file that is about to be written counts as existing. */
function isInGitFolder(path: string): boolean {
  for (let below = path, at = dirname(path); at !== below; below = at, at = dirname(at)) {
    const child = basename(below);
    if (MARKS.every((mark) => mark === child || existsSync(join(at, mark)))) return true;
    // A work tree may lie inside the folder of its repository.
    if (existsSync(join(at, ".git"))) return false;
  }
  return false;
}

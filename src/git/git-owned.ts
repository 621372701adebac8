import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Characters that HFS+ ignores in names (git's utf8.c). */
const INVISIBLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
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

/** Whether a step of a path is `.git`, under any name that a file system accepts for it. */
export function hasDotGit(path: string): boolean {
  return path.split(/[/\\]/).some(isDotGit);
}

/** `.GIT`, `git~1` and `.git ` are other names for it on file systems of macOS and Windows. */
function isDotGit(step: string): boolean {
  const [name = ""] = step.replaceAll(INVISIBLE, "").split(":", 1);
  return /^(?:\.git|git~1)[. ]*$/i.test(name);
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

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** What HFS+ leaves out of names (git, utf8.c). */
const INVISIBLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** By these, git knows a folder as a repository (setup.c). */
const MARKS = ["HEAD", "objects", "refs"];

/**
 * Whether a file is git's own: in `.git`, by whatever name a file system knows that, or in any other
 * folder that git would take for a repository. A hook or a setting that is written there runs with
 * the next command of git.
 */
export function isGitOwned(path: string): boolean {
  return path.split(/[/\\]/).some(isDotGit) || isInGitFolder(path);
}

/** `.GIT`, `git~1` and `.git ` are other names for it on file systems of macOS and Windows. */
function isDotGit(step: string): boolean {
  const [name = ""] = step.replaceAll(INVISIBLE, "").split(":", 1);
  return /^(?:\.git|git~1)[. ]*$/i.test(name);
}

/** What is about to be written counts as if it were there. */
function isInGitFolder(path: string): boolean {
  for (let below = path, at = dirname(path); at !== below; below = at, at = dirname(at)) {
    const child = basename(below);
    if (MARKS.every((mark) => mark === child || existsSync(join(at, mark)))) return true;
    // A work tree may lie in the folder of its repository.
    if (existsSync(join(at, ".git"))) return false;
  }
  return false;
}

import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** Whether git would take a folder for a repository. */
export function isGitFolder(folder: string): boolean {
  return ["HEAD", "objects", "refs"].every((name) => existsSync(join(folder, name)));
}

/**
 * Whether the git folder lies among the files of another repository. Those come from whoever made
 * that one, and so does the configuration in it (git-config(1), `safe.bareRepository`).
 */
export function isEmbedded(gitFolder: string): boolean {
  for (let at = dirname(gitFolder), below = gitFolder; ; below = at, at = dirname(at)) {
    const own = join(at, ".git");
    // What is in `.git` is never a file of a repository.
    if (below === own || at === dirname(at)) return false;
    if (existsSync(own)) return true;
  }
}

/** Whether a folder is in a bare repository that stands alone, and not in a work tree. */
export function isInBareRepository(folder: string): boolean {
  let at: string;
  try {
    at = realpathSync(folder);
  } catch {
    return false;
  }
  for (; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return false;
    if (isGitFolder(at)) return !isEmbedded(at);
    if (at === dirname(at)) return false;
  }
}

/** The folder that holds the `.git` by which git finds the repository; nothing where there is none. */
export function topFolder(folder: string): string | undefined {
  for (let at = realpathSync(folder); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return undefined;
  }
}

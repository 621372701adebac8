import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { readRegularFile } from "../base/file/read-regular-file.ts";
import type { Repository } from "./repository.ts";

/** Bytes of a file that only says where another is. */
const LONGEST_POINTER = 64 * 1024;

/** The work tree whose top folder this is, as its files have it; git itself is not asked. */
export function worktreeAt(folder: string): (Repository & { worktree: string }) | undefined {
  const file = join(folder, ".git");
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const link = stats.isDirectory() ? [] : /^gitdir: (.+?)\r?\n*$/s.exec(pointerIn(file) ?? "");
    if (link === null) return undefined;
    const gitDir = realpathSync(resolve(folder, link[1] ?? ".git"));
    if (!existsSync(join(gitDir, "HEAD"))) return undefined;
    return { worktree: folder, gitDir, commonDir: commonDirOf(gitDir), isBare: false };
  } catch {
    return undefined;
  }
}

/** The folder that all work trees share. */
export function commonDirOf(gitDir: string): string {
  const common = pointerIn(join(gitDir, "commondir"))?.replace(/\r?\n$/, "") ?? ".";
  return realpathSync(resolve(gitDir, common));
}

/** A repository may be anybody's, and these files anything. */
function pointerIn(file: string): string | undefined {
  return readRegularFile(file, { most: LONGEST_POINTER })?.toString("utf8");
}

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

import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { attempt } from "../base/attempt.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { hasDotGit } from "../base/file/repository-path.ts";

/** A repository as seen from a folder in it. All paths are absolute. */
export interface Repository {
  /** The top folder of the work tree, if there is one here. */
  readonly worktree: string | undefined;
  /** The git folder of this work tree alone. */
  readonly gitDir: string;
  /** Shared by all work trees. */
  readonly commonDir: string;
}

/** Bytes. The file holds only a path. */
const LONGEST_POINTER = 64 * 1024;

/** The work tree whose top folder this is, read from its files without running git. */
export function worktreeAt(folder: string): (Repository & { worktree: string }) | undefined {
  const file = join(folder, ".git");
  return attempt(() => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const link = stats.isDirectory() ? [] : /^gitdir: (.+?)\r?\n*$/s.exec(pointerIn(file) ?? "");
    if (link === null) return undefined;
    const gitDir = realpathSync.native(resolve(folder, link[1] ?? ".git"));
    if (!existsSync(join(gitDir, "HEAD"))) return undefined;
    return { worktree: folder, gitDir, commonDir: commonDirOf(gitDir) };
  });
}

/** The folder that all work trees share. `gitDir` is a real path. */
export function commonDirOf(gitDir: string): string {
  const common = pointerIn(join(gitDir, "commondir"))?.replace(/\r?\n$/, "");
  return common === undefined ? gitDir : realpathSync.native(resolve(gitDir, common));
}

/** The repository is not trusted: this may be a pipe, or huge. */
function pointerIn(file: string): string | undefined {
  return readRegularFile(file, { most: LONGEST_POINTER })?.toString("utf8");
}

/** Whether git takes a folder for a repository (git's setup.c, `is_git_directory`). */
export function isGitFolder(folder: string): boolean {
  return ["HEAD", "objects", "refs"].every((name) => existsSync(join(folder, name)));
}

/**
 * Whether a git folder lies in the work tree of another repository. Then its configuration comes
 * from whoever wrote those files (git-config(1), `safe.bareRepository`).
 */
export function isEmbedded(gitFolder: string): boolean {
  for (let at = dirname(gitFolder), below = gitFolder; ; below = at, at = dirname(at)) {
    const own = join(at, ".git");
    // A repository's own `.git` is not part of its work tree.
    if (below === own || at === dirname(at)) return false;
    if (existsSync(own)) return true;
  }
}

/** Whether a folder is in a bare repository that is not part of another repository's work tree. */
export function isInBareRepository(folder: string): boolean {
  const real = attempt(() => realpathSync.native(folder));
  if (real === undefined) return false;
  for (let at = real; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return false;
    if (isGitFolder(at)) return !isEmbedded(at);
    if (at === dirname(at)) return false;
  }
}

/** The nearest folder upwards with a `.git`; undefined if there is none. */
export function topFolder(folder: string): string | undefined {
  for (let at = realpathSync.native(folder); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return undefined;
  }
}

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

import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { realPath } from "../base/file/path.ts";
import { visibleLine } from "../base/text/visible.ts";
import { commonDirOf, isEmbedded, isGitFolder, worktreeAt } from "../git/git-folder.ts";
import { hasDotGit } from "../base/file/repository-path.ts";
import type { Repository } from "../store/review/review-thread.ts";

/** Bytes. packed-refs has all refs of a repository. */
const LARGEST_REFS = 64 * 1024 * 1024;

/** A repository as seen from one of its worktrees. */
export interface FoundRepository extends Repository {
  /** The git folder of this worktree alone. */
  readonly worktreeGitDir: string;
  /** Without a worktree here. */
  readonly isBare: boolean;
}

/**
 * The repository of a folder. It is read from the files: each comment waits for it, and running git
 * would take longer than everything else.
 */
export function findRepository(folder: string): FoundRepository | undefined {
  let at = attempt(() => realpathSync.native(folder));
  while (at !== undefined) {
    const found = repositoryAt(at);
    if (found !== undefined) return found;
    const above = dirname(at);
    at = above === at ? undefined : above;
  }
  return undefined;
}

/** Throws "not-found" where there is none. */
export function openRepository(folder: string): FoundRepository {
  const found = findRepository(folder);
  if (found !== undefined) return found;
  const why = "it is not in a git repository. Go into one, or name one with --repo";
  throw new TrunklineError("not-found", `Cannot use reviews in '${folder}': ${why}.`);
}

function repositoryAt(folder: string): FoundRepository | undefined {
  const here = worktreeAt(folder);
  if (here !== undefined) {
    const { commonDir, gitDir, worktree } = here;
    return { gitDir: commonDir, worktreeGitDir: gitDir, root: worktree, isBare: false };
  }
  // A bare repository in the work tree of another is not trusted.
  if (!isGitFolder(folder) || isEmbedded(folder)) return undefined;
  // `.git` itself belongs to the work tree above it.
  const isBare = basename(folder) !== ".git";
  const root = isBare ? folder : dirname(folder);
  return { gitDir: commonDirOf(realpathSync.native(folder)), worktreeGitDir: folder, root, isBare };
}

/** A full object id, SHA-1 or SHA-256. */
export const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** The commit that is checked out; undefined if there is none, or the files do not tell. */
export function headCommit({ gitDir, worktreeGitDir }: FoundRepository): string | undefined {
  let name = readOrNothing(join(worktreeGitDir, "HEAD"));
  for (let depth = 0; depth < 5 && name !== undefined; depth++) {
    if (OBJECT_ID.test(name)) return name;
    const [, ref] = /^ref: (refs\/.+)$/.exec(name) ?? [];
    if (ref === undefined) return undefined;
    name =
      readOrNothing(join(worktreeGitDir, ref)) ??
      readOrNothing(join(gitDir, ref)) ??
      packedRef(gitDir, ref);
  }
  return undefined;
}

function packedRef(gitDir: string, ref: string): string | undefined {
  const lines = readOrNothing(join(gitDir, "packed-refs"))?.split("\n") ?? [];
  return lines.find((line) => line.endsWith(` ${ref}`))?.split(" ")[0];
}

function readOrNothing(path: string): string | undefined {
  return attempt(() => readRegularFile(path, { most: LARGEST_REFS })?.toString("utf8").trim());
}

/**
 * A file's path relative to the root, with `/`. The name is relative to the folder; if no such file
 * exists, to the root, as programs name files that show a whole repository.
 */
export function pathIn(repository: Repository, folder: string, file: string): string {
  const { root } = repository;
  if (file === "" || file.includes("\0")) {
    throw new TrunklineError("usage", "Cannot comment on a file without a name: give --file.");
  }
  const here = inside(root, resolve(folder, file));
  if (here !== undefined && (existsSync(join(root, here)) || isAbsolute(file))) return here;
  const fromRoot = inside(root, resolve(root, file));
  if (fromRoot !== undefined && existsSync(join(root, fromRoot))) return fromRoot;
  if (here !== undefined) return here;
  const isRoot = [folder, root].some((base) => relative(root, resolve(base, file)) === "");
  const why = isRoot ? "is the whole repository. Name a file in it" : `is outside of '${root}'`;
  throw new TrunklineError("usage", `Cannot comment on '${file}': it ${why}.`);
}

/**
 * The repository that a file belongs to, and its path there. A file in a submodule, or in another work
 * tree below this one, belongs to that, whichever folder it is named from. Git's own files belong to none.
 */
export function placeOf(repository: FoundRepository, folder: string, file: string) {
  const path = pathIn(repository, folder, file);
  if (hasDotGit(path)) {
    const why = "it is one of git's own files";
    throw new TrunklineError("usage", `Cannot comment on '${visibleLine(path)}': ${why}.`);
  }
  const { root } = repository;
  const steps = path.split("/");
  for (let depth = steps.length - 1; depth > 0 && !repository.isBare; depth--) {
    const found = repositoryAt(join(root, ...steps.slice(0, depth)));
    if (found !== undefined) return { repository: found, path: steps.slice(depth).join("/") };
  }
  return { repository, path };
}

/** Resolves symbolic links in the folders, but not the file itself: a link can be commented on. */
function inside(root: string, path: string): string | undefined {
  const found = relative(root, join(realPath(dirname(path)), basename(path)));
  return found === "" || found === ".." || found.startsWith(`..${sep}`) || isAbsolute(found)
    ? undefined
    : found.split(sep).join("/");
}

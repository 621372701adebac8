import { existsSync, lstatSync, realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { commonDirOf, topFolder } from "../git-folder.ts";
import { isFolder } from "./git-files.ts";

/** A repository that a session works in. */
export interface KnownRepository {
  /** The top folder of its work tree. */
  readonly top: string;
  readonly gitDir: string;
  readonly commonDir: string;
  /** What its `.git` says, if that is a file; bytes, one character each. */
  readonly pointer?: string | undefined;
  /** Folders that its `.git` leads to, with links resolved, if they do not point back to it. */
  readonly led?: readonly string[];
  /** Why commands can only read it. */
  readonly problem: string | undefined;
}

/** Bytes of a file that holds a path. */
const LONGEST = 64 * 1024;
const FILE = { most: LONGEST, followsLinks: false };

/** The repository of a work tree, judged by its files; undefined if there is none. */
export function repositoryAt(top: string): KnownRepository | undefined {
  const path = join(top, ".git");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const unclear = (problem: string, pointer?: string): KnownRepository => ({
    ...{ top, gitDir: path, commonDir: path, pointer, problem },
  });
  if (stats.isDirectory()) {
    // Git does not regard an empty folder as a repository.
    if (!existsSync(join(path, "HEAD"))) return undefined;
    return { ...unclear(""), problem: problemOf(path, path) };
  }
  if (!stats.isFile()) {
    return { ...unclear("its .git is neither a folder nor a file"), led: ledTo(path) };
  }
  let pointer: string | undefined;
  try {
    const content = readRegularFile(path, FILE);
    pointer = content?.toString("latin1");
    const [, named] = /^gitdir: (.+?)\r?\n*$/s.exec(content?.toString("utf8") ?? "") ?? [];
    if (named === undefined) return unclear("its .git names no folder", pointer);
    const gitDir = realpathSync.native(resolve(top, named));
    const commonDir = commonDirOf(gitDir);
    if (!belongs(path, gitDir, commonDir)) {
      const says = `the folder '${gitDir}' that its .git names does not name it`;
      return { ...unclear(says, pointer), led: ledTo(gitDir) };
    }
    return { top, gitDir, commonDir, pointer, problem: problemOf(gitDir, commonDir) };
  } catch (error) {
    return unclear(`its .git cannot be followed: ${(error as Error).message}`, pointer);
  }
}

function ledTo(path: string): string[] {
  return attempt(() => {
    const gitDir = realpathSync.native(path);
    return [...new Set([gitDir, commonDirOf(gitDir)])];
  }, []);
}

/** Whether a git folder names this work tree as its own: a planted `.git` could name any folder. */
function belongs(pointer: string, gitDir: string, commonDir: string): boolean {
  if (commonDir !== gitDir) {
    const back = readRegularFile(join(gitDir, "gitdir"), FILE)?.toString("utf8").trim() ?? "";
    return dirname(gitDir) === join(commonDir, "worktrees") && resolve(gitDir, back) === pointer;
  }
  // The git folder of a submodule is inside that of the outer repository.
  for (let at = dirname(dirname(pointer)); at !== dirname(at); at = dirname(at)) {
    if (gitDir.startsWith(join(at, ".git", "modules", sep))) return true;
  }
  return false;
}

/** What a shadow cannot stand in for. */
function problemOf(gitDir: string, commonDir: string): string | undefined {
  if (gitDir === commonDir && existsSync(join(gitDir, "commondir"))) return "it has a commondir";
  const folders = ["objects", "refs"].map((name) => join(commonDir, name));
  if (!folders.every(isFolder)) return "its objects or refs are not in folders of its own";
  if (existsSync(join(commonDir, "objects/info/alternates"))) {
    return "it shares the objects of another repository";
  }
  if (existsSync(join(commonDir, "reftable"))) return "it has a reftable";
  const config = readRegularFile(join(commonDir, "config"), { ...FILE, most: 4 * 1024 * 1024 });
  const text = config?.toString("utf8") ?? "";
  if (/objectformat\s*=\s*"?sha256/i.test(text)) return "its objects have SHA-256 ids";
  if (/refstorage\s*=/i.test(text)) return "its refs are stored in another way";
  if (/^\s*bare\s*=\s*(?:true|yes|on|1)\s*$/im.test(text)) return "it is bare";
  return undefined;
}

/** The repositories that contain these folders, and those that are in them. */
export async function knownRepositories(folders: readonly string[]): Promise<KnownRepository[]> {
  const found = new Map<string, KnownRepository>();
  for (const folder of folders) {
    const top = topFolder(folder);
    for (const one of [...(top === undefined ? [] : [top]), ...(await nestedIn(folder))]) {
      const repository = repositoryAt(one);
      if (repository !== undefined) found.set(repository.top, repository);
    }
  }
  return [...found.values()];
}

/** Folders that are looked at for a repository in a session's folder, and how many at once. */
const [MOST_FOLDERS, AT_ONCE] = [100_000, 32];

/** The folders with a `.git` below a folder, the nearest first. */
async function nestedIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  let level = [folder];
  for (let count = 0; level.length > 0 && count < MOST_FOLDERS;) {
    const next: string[] = [];
    for (let from = 0; from < level.length; from += AT_ONCE) {
      const part = level.slice(from, from + AT_ONCE);
      const lists = await Promise.all(part.map((at) => readdir(at, TYPES).catch(() => [])));
      for (const [at, entries] of lists.entries()) {
        const path = part[at] ?? "";
        if (path !== folder && entries.some(({ name }) => name === ".git")) found.push(path);
        const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== ".git");
        next.push(...folders.map(({ name }) => `${path}/${name}`));
      }
    }
    count += level.length;
    level = next;
  }
  return found;
}

const TYPES = { withFileTypes: true } as const;

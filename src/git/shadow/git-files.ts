import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";

/** Bytes. */
const MOST_FILE = 4 * 1024 * 1024;
export const MOST_INDEX = 1024 * 1024 * 1024;

/** A file of a git folder; no part of its path below that may be a link. */
export function fileIn(folder: string, path: string, most = MOST_FILE): Buffer | undefined {
  const parts = path.split("/");
  for (let count = 1; count < parts.length; count++) {
    if (!isFolder(join(folder, ...parts.slice(0, count)))) return undefined;
  }
  return readRegularFile(join(folder, path), { most, followsLinks: false });
}

export function textIn(folder: string, path: string): string | undefined {
  return fileIn(folder, path)?.toString("utf8");
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Copies the files of a folder and of those in it, and no links. */
export function copyTree(from: string, to: string): void {
  if (!isFolder(from)) return;
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(source, target);
    else if (entry.isFile()) writeFileSync(target, fileIn(from, entry.name, MOST_INDEX) ?? "");
  }
}

/** Files that say what a merge or the like is about. They hold ids and messages only. */
export const STATE_FILES = [
  ...["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "FETCH_HEAD"],
  ...["MERGE_MODE", "MERGE_MSG", "SQUASH_MSG"],
];

/** Their contents, as bytes, one character each. */
export function stateFiles(folder: string): Record<string, string> {
  return Object.fromEntries(
    STATE_FILES.flatMap((name) => {
      const content = fileIn(folder, name);
      return content === undefined ? [] : [[name, content.toString("latin1")] as const];
    }),
  );
}

/** The refs that are checked out in other work trees of a repository. */
export function checkedOutElsewhere(gitDir: string, commonDir: string): Set<string> {
  const trees = join(commonDir, "worktrees");
  const linked = isFolder(trees) ? readdirSync(trees).map((name) => join(trees, name)) : [];
  const others = [commonDir, ...linked].filter((folder) => folder !== gitDir && isFolder(folder));
  const heads = others.map((folder) => textIn(folder, "HEAD")?.trim() ?? "");
  return new Set(heads.filter((head) => head.startsWith("ref: ")).map((head) => head.slice(5)));
}

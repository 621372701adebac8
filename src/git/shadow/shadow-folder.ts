import {
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";
import type { KnownRepository } from "./known-repositories.ts";
import { formatPackedRefs, readRefs, type Refs } from "./refs.ts";

/** Something mounted over the files that a command sees. */
export interface Mount {
  readonly at: string;
  /** Nothing that a command can write. */
  readonly from: string;
  readonly isWritable: boolean;
}

/** A repository as a command found it. */
export interface Base {
  readonly refs: Refs;
  readonly head: string;
  readonly index: Buffer | undefined;
  /** The stash, the oldest first, as lines of its reflog. */
  readonly stash: string;
  readonly config: string;
  readonly files: ReadonlyMap<string, string>;
}

/** Files that say what a merge or the like is about. They hold ids and messages only. */
export const STATE_FILES = [
  ...["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "FETCH_HEAD"],
  ...["MERGE_MODE", "MERGE_MSG", "SQUASH_MSG"],
];

/** Their contents, as bytes, one character each. */
export function stateFiles(folder: string): Map<string, string> {
  return new Map(
    STATE_FILES.flatMap((name) => {
      const content = fileIn(folder, name);
      return content === undefined ? [] : [[name, content.toString("latin1")] as const];
    }),
  );
}

/** Bytes. */
const [MOST_INDEX, MOST_FILE, MOST_LOG] = [1024 * 1024 * 1024, 4 * 1024 * 1024, 256 * 1024];
/** Folders of an operation that takes several commands. What they say, git runs. */
export const OPERATIONS = ["rebase-merge", "rebase-apply", "sequencer"];
/** Folders that are not mounted as they are. */
const OWN = new Set(["objects", "refs", "logs", "modules", "worktrees", ...OPERATIONS]);
/** The extension of an index that lists folders, which is empty. */
const SPARSE = Buffer.from("sdir\0\0\0\0");
/** Set on everything that is made, so that what a command writes has another time. */
const LONG_AGO = new Date("2001-01-01");

/** Where the objects of a repository are inside. The path is in files that outlive a command. */
export function objectsInside(id: string): string {
  return `/run/trunkline/git/${id}/objects`;
}

/**
 * Makes a git folder in which a command works in place of the real one: it has the same refs, index and
 * settings, and writes new objects of its own beside the real ones, which it can only read.
 */
export function makeShadow(repository: KnownRepository, id: string, work: string): Shadow {
  const { gitDir, commonDir, top } = repository;
  const isLinked = gitDir !== commonDir;
  const common = join(work, "common");
  const own = isLinked ? join(work, "own") : common;
  const mounts: Mount[] = [
    { at: commonDir, from: common, isWritable: true },
    { at: objectsInside(id), from: join(commonDir, "objects"), isWritable: false },
  ];
  mkdirSync(join(common, "objects/info"), { recursive: true });
  mkdirSync(join(common, "objects/pack"));
  writeFileSync(join(common, "objects/info/alternates"), `${objectsInside(id)}\n`);
  mounts.push(...copyFolder(commonDir, common));
  const refs = readRefs(commonDir);
  mkdirSync(join(common, "refs/heads"), { recursive: true });
  mkdirSync(join(common, "refs/tags"));
  writeFileSync(join(common, "packed-refs"), formatPackedRefs(refs));
  for (const [name, target] of refs.symbolic) put(join(common, name), `ref: ${target}\n`);
  const stash = fileIn(commonDir, "logs/refs/stash")?.toString("utf8") ?? "";
  if (stash !== "") put(join(common, "logs/refs/stash"), stash);
  copyWorktrees(commonDir, common);
  if (isLinked) {
    mkdirSync(join(common, "worktrees", gitDir.slice(dirname(gitDir).length + 1)), {
      recursive: true,
    });
    mkdirSync(own);
    mounts.push(...copyFolder(gitDir, own), { at: gitDir, from: own, isWritable: true });
    copyTree(join(gitDir, "refs"), join(own, "refs"));
  }
  const log = fileIn(gitDir, "logs/HEAD", 64 * MOST_FILE);
  const lines = log === undefined ? undefined : lastLines(log, MOST_LOG);
  if (lines !== undefined) put(join(own, "logs/HEAD"), lines);
  const index = fileIn(gitDir, "index", MOST_INDEX);
  if (index?.includes(SPARSE) === true) throw new Error("its index is sparse");
  if (index !== undefined) copyIndexTo(own, index, join(gitDir, "index"));
  if (repository.pointer !== undefined) {
    writeFileSync(join(work, "pointer"), repository.pointer);
    mounts.push({ at: join(top, ".git"), from: join(work, "pointer"), isWritable: false });
  }
  const head = fileIn(gitDir, "HEAD")?.toString("utf8").trim() ?? "";
  const config = fileIn(commonDir, "config")?.toString("utf8") ?? "";
  return {
    repository,
    work,
    common,
    own,
    mounts,
    logSize: lines?.length ?? 0,
    base: { refs, head, index, stash, config, files: stateFiles(gitDir) },
    before: filesOf(work, true),
  };
}

/** A git folder that stands in for a real one. */
export interface Shadow {
  readonly repository: KnownRepository;
  readonly work: string;
  readonly common: string;
  /** Of the work tree; the same as `common` unless it is a linked one. */
  readonly own: string;
  readonly mounts: readonly Mount[];
  readonly base: Base;
  /** Bytes of HEAD's reflog that a command found. */
  readonly logSize: number;
  /** Its files, as they were made. */
  readonly before: ReadonlyMap<string, string>;
}

/** The files that a command has added, changed or removed, such as `own/index`. */
export function changedFiles({ work, before }: Shadow): string[] {
  const after = filesOf(work);
  const isSame = (path: string): boolean => before.get(path) === after.get(path);
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => !isSame(path));
}

/** What tells that a file was written: nobody can set the time of its last change. */
function filesOf(work: string, isNew = false): Map<string, string> {
  const files = new Map<string, string>();
  const look = (path: string): void => {
    for (const entry of readdirSync(join(work, path), { withFileTypes: true })) {
      const below = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) {
        look(below);
        continue;
      }
      const file = join(work, below);
      if (isNew && !below.endsWith("/index")) lutimesSync(file, LONG_AGO, LONG_AGO);
      const { ino, size, mtimeNs, ctimeNs } = lstatSync(file, { bigint: true });
      files.set(below, `${ino} ${size} ${mtimeNs} ${ctimeNs}`);
    }
  };
  look("");
  return files;
}

/** Copies the files of a git folder. Folders that git and its helpers have there can be read as they are. */
function copyFolder(from: string, to: string): Mount[] {
  const mounts: Mount[] = [];
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry;
    const [source, target] = [join(from, name), join(to, name)];
    if (entry.isDirectory()) {
      if (OPERATIONS.includes(name)) copyTree(source, target);
      if (OWN.has(name)) continue;
      mkdirSync(target);
      mounts.push({ at: source, from: source, isWritable: false });
    } else if (entry.isSymbolicLink() && !MUST_BE_FILES.has(name)) {
      symlinkSync(readlinkSync(source), target);
    } else if (entry.isFile()) {
      if (name.endsWith(".lock") || name === "index" || name === "packed-refs") continue;
      if (name.startsWith("sharedindex.")) throw new Error("its index is split");
      writeFileSync(target, fileIn(from, name) ?? "");
    } else throw new Error(`'${name}' in it is not a file`);
  }
  return mounts;
}

const MUST_BE_FILES = new Set([
  "HEAD",
  "config",
  "index",
  "packed-refs",
  "objects",
  "refs",
  "logs",
]);

function copyTree(from: string, to: string): void {
  const entries = readdirSync(from, { withFileTypes: true });
  mkdirSync(to, { recursive: true });
  for (const entry of entries) {
    if (entry.isDirectory()) copyTree(join(from, entry.name), join(to, entry.name));
    else if (entry.isFile()) writeFileSync(join(to, entry.name), fileIn(from, entry.name) ?? "");
  }
}

/** Git looks at the other work trees before it checks out a branch or deletes it. */
function copyWorktrees(from: string, to: string): void {
  const folder = join(from, "worktrees");
  if (!isFolder(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!isFolder(join(folder, name))) continue;
    for (const file of ["HEAD", "gitdir", "commondir", "locked"]) {
      const content = fileIn(join(folder, name), file);
      if (content !== undefined) put(join(to, "worktrees", name, file), content);
    }
  }
}

/** With its time: git reads each file again whose time is not before that of the index. */
function copyIndexTo(own: string, index: Buffer, original: string): void {
  const target = join(own, "index");
  writeFileSync(target, index);
  const second = Math.floor(lstatSync(original).mtimeMs / 1000);
  lutimesSync(target, second, second);
}

function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** A file of a git folder; no part of its path below that may be a link. */
export function fileIn(folder: string, path: string, most = MOST_FILE): Buffer | undefined {
  const parts = path.split("/");
  for (let count = 1; count < parts.length; count++) {
    if (!isFolder(join(folder, ...parts.slice(0, count)))) return undefined;
  }
  return readRegularFile(join(folder, path), { most, followsLinks: false });
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function lastLines(text: Buffer, most: number): Buffer {
  const from = text.length - most;
  return from <= 0 ? text : text.subarray(text.indexOf(10, from) + 1);
}

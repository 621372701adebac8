import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

import {
  copyTree,
  fileIn,
  formatPackedRefs,
  isFolder,
  MOST_INDEX,
  put,
  readRefs,
  type Refs,
  stateFiles,
  textIn,
} from "./git-files.ts";
import type { KnownRepository } from "./known-repositories.ts";
import { newIncoming } from "./receive-objects.ts";

/** A mount in the file system that a command sees. */
export interface Mount {
  readonly at: string;
  /** A path that no command can write to. */
  readonly from: string;
  readonly isWritable: boolean;
}

/** A repository as a command found it. */
export interface ShadowBase {
  readonly refs: Refs;
  readonly head: string;
  /** The reflog of the stash, the oldest entry first. */
  readonly stash: string;
  readonly files: Readonly<Record<string, string>>;
  /** Bytes of HEAD's reflog. */
  readonly logSize: number;
  /** Operations that the person has begun. */
  readonly operations: readonly string[];
  /** The refs that keep new objects reachable until they are taken over. */
  readonly incoming: string;
}

/** A git folder that stands in for a real one. */
export interface Shadow {
  readonly repository: KnownRepository;
  /** Where it and its base are. */
  readonly work: string;
  readonly common: string;
  /** The git folder of the work tree; the same as `common` unless the work tree is a linked one. */
  readonly own: string;
  readonly base: ShadowBase;
  /** Its files, as they were made; nothing if it is from another command. */
  readonly before: ReadonlyMap<string, string>;
  /** Whether it continues an unfinished operation of another command. */
  readonly isAdopted: boolean;
  /** The one that it is a copy of. */
  readonly adopted?: string;
}

/** Bytes of HEAD's reflog that a command sees. */
const MOST_LOG = 256 * 1024;
/** Files and folders that a command may have in its git folder. */
const MOST_ENTRIES = 200_000;
/** Files of an operation that takes several commands, such as a rebase. Git runs commands in them. */
export const OPERATIONS = ["rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG"];
/** Folders that are not mounted as they are. */
const OWN = new Set(["objects", "lfs", "refs", "logs", "modules", "worktrees", ...OPERATIONS]);
/** Names in a git folder that must not be links. */
export const PLAIN = new Set(["HEAD", "config", "index", "packed-refs", "objects", "refs", "logs"]);
/** The modification time of all files that we create, so that files that a command writes differ. */
const LONG_AGO = new Date("2001-01-01");
const [BASE, BASE_INDEX] = ["base.json", "base.index"];

export function digestOf(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}

/** The path of a repository's objects inside the sandbox; Git LFS looks for its files beside it. */
function inside({ commonDir }: KnownRepository, name: "objects" | "lfs"): string {
  return `/run/trunkline/git/${digestOf(commonDir)}/${name}`;
}

/**
 * Makes a git folder in which a command works in place of the real one: it has the same refs, index and
 * settings, and gets new objects beside the real ones, which a command can only read.
 */
export function makeShadow(repository: KnownRepository, work: string): Shadow {
  const { gitDir, commonDir } = repository;
  const { common, own } = foldersOf(repository, work);
  mkdirSync(join(common, "objects/info"), { recursive: true });
  mkdirSync(join(common, "objects/pack"));
  writeFileSync(join(common, "objects/info/alternates"), `${inside(repository, "objects")}\n`);
  copyFiles(commonDir, common);
  const refs = readRefs(commonDir);
  for (const name of ["refs/heads", "refs/tags"])
    mkdirSync(join(common, name), { recursive: true });
  writeFileSync(join(common, "packed-refs"), formatPackedRefs(refs));
  for (const [name, target] of refs.symbolic) put(join(common, name), `ref: ${target}\n`);
  const stash = textIn(commonDir, "logs/refs/stash") ?? "";
  if (stash !== "") put(join(common, "logs/refs/stash"), stash);
  copyWorktrees(commonDir, common);
  if (own !== common) {
    mkdirSync(own);
    copyFiles(gitDir, own);
    copyTree(join(gitDir, "refs"), join(own, "refs"));
  }
  const log = lastLines(fileIn(gitDir, "logs/HEAD", MOST_INDEX) ?? Buffer.alloc(0), MOST_LOG);
  if (log.length > 0) put(join(own, "logs/HEAD"), log);
  copyIndex(join(gitDir, "index"), join(work, BASE_INDEX), join(own, "index"));
  const head = textIn(gitDir, "HEAD")?.trim() ?? "";
  const operations = OPERATIONS.filter((name) => existsSync(join(gitDir, name)));
  const files = stateFiles(gitDir);
  const incoming = newIncoming();
  const base = { refs, head, stash, files, logSize: log.length, operations, incoming };
  writeBase(work, repository, base);
  return { repository, work, common, own, base, before: filesOf(work, true), isAdopted: false };
}

/** A shadow that another command has left. */
export function openShadow(work: string): Shadow {
  const { repository, base } = readBase(work);
  const folders = foldersOf(repository, work);
  return { repository, work, ...folders, base, before: new Map(), isAdopted: true };
}

/** A copy of a shadow that another command has left, for the next one. */
export function copyShadow(left: Shadow, work: string): Shadow {
  copyTree(left.work, work);
  const { repository } = left;
  const before = filesOf(work, true);
  return { ...left, work, ...foldersOf(repository, work), before, adopted: left.work };
}

function foldersOf(
  { gitDir, commonDir }: KnownRepository,
  work: string,
): { common: string; own: string } {
  const common = join(work, "common");
  return { common, own: gitDir === commonDir ? common : join(work, "own") };
}

/** The mounts that put a shadow in the place of the real folder. */
export function mountsOf({ repository, common, own, work }: Shadow): Mount[] {
  const { gitDir, commonDir, top, pointer } = repository;
  const mounts: Mount[] = [
    { at: commonDir, from: common, isWritable: true },
    ...(["objects", "lfs"] as const)
      .map((name) => ({ at: inside(repository, name), from: join(commonDir, name) }))
      .filter(({ from }) => isFolder(from))
      .map((mount) => ({ ...mount, isWritable: false })),
    ...readOnly(commonDir, common),
  ];
  if (own !== common) {
    makeFolder(common, "worktrees", basename(gitDir));
    mounts.push({ at: gitDir, from: own, isWritable: true }, ...readOnly(gitDir, own));
  }
  if (pointer !== undefined) {
    writeFileSync(join(work, "pointer"), pointer, "latin1");
    mounts.push({ at: join(top, ".git"), from: join(work, "pointer"), isWritable: false });
  }
  return mounts;
}

/** Makes the folder to mount on. A command may have put a link there. */
function makeFolder(...path: readonly string[]): void {
  for (let count = 2; count <= path.length; count++) {
    const folder = join(...path.slice(0, count));
    if (!isFolder(folder)) mkdirSync(folder);
  }
}

/** Other folders of git and its helpers are mounted read-only. */
function readOnly(folder: string, shadow: string): Mount[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !OWN.has(entry.name))
    .map(({ name }) => {
      makeFolder(shadow, name);
      return { at: join(folder, name), from: join(folder, name), isWritable: false };
    });
}

/** The files that a command has added, changed or removed, such as `own/index`. */
export function changedFiles({ work, before }: Shadow): string[] {
  const after = filesOf(work);
  const isSame = (path: string): boolean => before.get(path) === after.get(path);
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => !isSame(path));
}

/** A stamp of each file that changes with every write: programs cannot set the ctime. */
function filesOf(work: string, isNew = false): Map<string, string> {
  const files = new Map<string, string>();
  let count = 0;
  const look = (path: string): void => {
    for (const entry of readdirSync(join(work, path), { withFileTypes: true })) {
      const below = `${path}/${entry.name}`;
      if (++count > MOST_ENTRIES) throw new Error("its git folder has too many entries");
      if (entry.isDirectory()) {
        look(below);
        continue;
      }
      const file = join(work, below);
      if (isNew && !below.endsWith("/index")) lutimesSync(file, LONG_AGO, LONG_AGO);
      const { ino, size, mtimeNs, ctimeNs } = lstatSync(file, { bigint: true });
      files.set(below.slice(1), `${ino} ${size} ${mtimeNs} ${ctimeNs}`);
    }
  };
  for (const name of ["/common", "/own"]) if (isFolder(join(work, name))) look(name);
  return files;
}

function copyFiles(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry;
    const [source, target] = [join(from, name), join(to, name)];
    if (entry.isDirectory()) {
      if (OPERATIONS.includes(name)) copyTree(source, target);
    } else if (entry.isSymbolicLink() && !PLAIN.has(name)) {
      symlinkSync(readlinkSync(source), target);
    } else if (!entry.isFile()) {
      throw new Error(`'${name}' in its git folder is not a file`);
    } else if (name.startsWith("sharedindex.")) {
      throw new Error("its index is split");
    } else if (!name.endsWith(".lock") && name !== "index" && name !== "packed-refs") {
      writeFileSync(target, fileIn(from, name) ?? "");
    }
  }
}

/** Git looks at the other work trees before it checks out a branch or deletes it. */
function copyWorktrees(from: string, to: string): void {
  const folder = join(from, "worktrees");
  for (const name of isFolder(folder) ? readdirSync(folder) : []) {
    for (const file of ["HEAD", "gitdir", "commondir", "locked"]) {
      const content = fileIn(folder, `${name}/${file}`);
      if (content !== undefined) put(join(to, "worktrees", name, file), content);
    }
  }
}

/** With its time: git reads each file again whose time is not before that of the index. */
function copyIndex(real: string, base: string, target: string): void {
  const stats = lstatSync(real, { throwIfNoEntry: false });
  if (stats === undefined) return;
  try {
    // Git never writes to an index that is there: it puts another one into its place.
    linkSync(real, base);
  } catch {
    copyFileSync(real, base, constants.COPYFILE_FICLONE);
  }
  copyFileSync(base, target, constants.COPYFILE_FICLONE);
  const second = Math.floor(stats.mtimeMs / 1000);
  lutimesSync(target, second, second);
}

/** The index that a command found. */
export function baseIndex({ work }: Pick<Shadow, "work">): Buffer | undefined {
  return fileIn(work, BASE_INDEX, MOST_INDEX);
}

function lastLines(text: Buffer, most: number): Buffer {
  const from = text.length - most;
  return from <= 0 ? text : text.subarray(text.indexOf(10, from) + 1);
}

/** Written to disk, so that a command's work can be taken over even if this process is killed. */
export function writeBase(
  work: string,
  repository: KnownRepository,
  { refs, ...base }: ShadowBase,
): void {
  const packed = formatPackedRefs(refs);
  const symbolic = [...refs.symbolic];
  writeFileSync(join(work, BASE), JSON.stringify({ repository, base, packed, symbolic }));
}

function readBase(work: string): { repository: KnownRepository; base: ShadowBase } {
  const text = fileIn(work, BASE, MOST_INDEX)?.toString("utf8") ?? "";
  const { repository, base, packed, symbolic } = JSON.parse(text) as {
    repository: KnownRepository;
    base: Omit<ShadowBase, "refs">;
    packed: string;
    symbolic: [string, string][];
  };
  const lines = packed.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const ids = new Map(lines.map((line) => [line.slice(41), line.slice(0, 40)]));
  return { repository, base: { ...base, refs: { ids, symbolic: new Map(symbolic) } } };
}

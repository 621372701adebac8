import { chmod, link, lstat, open, readlink, realpath } from "node:fs/promises";
import { rename, rm, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { fileWords, TrunklineError } from "../errors.ts";
import { makeFolder } from "./path.ts";
import { readRegularFile, regularFile, UnfitFileError } from "./read-regular-file.ts";

/** A change of one file. */
export interface FileChange {
  /** The real path, with symbolic links resolved. */
  readonly path: string;
  /** Undefined if the file does not exist. */
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
  /** Permissions; for a new file the umask applies. */
  readonly mode: number;
  /** Git locks this file while it changes it, so we take the same lock. */
  readonly isGitConfig: boolean;
}

const MAX_SIZE = 4 * 1024 * 1024;
const LOCK_WAIT = 5_000;

/** The current state of a file. */
export interface CurrentFile {
  readonly path: string;
  readonly bytes: Buffer | undefined;
  readonly mode: number;
}

export async function readCurrent(path: string, newMode: number): Promise<CurrentFile> {
  const real = await followLinks(path);
  try {
    const { content: bytes, mode = newMode } = regularFile(real, { most: MAX_SIZE }) ?? {};
    return { path: real, bytes, mode: mode & 0o7777 };
  } catch (error) {
    // Replacing a device such as /dev/null would break it for everybody.
    if (!(error instanceof UnfitFileError)) throw unreadable(real, error);
    throw new TrunklineError("config", `Cannot change '${real}': ${error.message}`);
  }
}

/** The content of a file; undefined if it does not exist. */
export function bytesOf(path: string): Buffer | undefined {
  try {
    return readRegularFile(path, { most: MAX_SIZE });
  } catch (error) {
    throw unreadable(path, error);
  }
}

export function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.equals(other);
}

/**
 * Configuration files are often symbolic links into another folder. The link stays; its target is
 * changed.
 */
async function followLinks(path: string): Promise<string> {
  let at = path;
  for (let steps = 0; steps < 16; steps++) {
    try {
      return await realpath(at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw unreadable(path, error);
    }
    const isLink = await lstat(at).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    );
    if (!isLink) {
      const folder = await realpath(dirname(at)).catch(() => dirname(at));
      return join(folder, basename(at));
    }
    at = resolve(dirname(at), await readlink(at));
  }
  throw new TrunklineError("config", `Cannot follow '${path}': it is a link to itself`);
}

function unreadable(path: string, error: unknown): Error {
  if (error instanceof TrunklineError) return error;
  const why = error instanceof UnfitFileError ? error.message : fileWords(error, path);
  const says = `Cannot read '${path}': ${why}`;
  return new TrunklineError("unavailable", says, { cause: error });
}

function unwritable(path: string, error: unknown): Error {
  if (error instanceof TrunklineError) return error;
  const why = fileWords(error, path);
  return new TrunklineError("unavailable", `Cannot change '${path}': ${why}`, { cause: error });
}

/** The temporary file that will replace the file. */
function temporaryOf(path: string, id: string): string {
  return `${path}.trunkline-${id}`;
}

/** Git's lock file (git's lockfile.h). */
function lockOf(path: string): string {
  return `${path}.lock`;
}

/** Writes the new content to a temporary file beside the old one. */
export async function prepare(change: FileChange, id: string): Promise<void> {
  const { path, after, before, mode } = change;
  const temporary = temporaryOf(path, id);
  try {
    makeFolder(dirname(path), 0o700);
    {
      await using file = await open(temporary, "wx", mode);
      await file.writeFile(after ?? Buffer.alloc(0));
      await file.sync();
    }
    // An existing file keeps its mode, whatever the umask.
    if (before !== undefined) await chmod(temporary, mode);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw unwritable(path, error);
  }
}

/**
 * Replaces the file with the prepared one in one step. Throws if the file has changed since the
 * plan was made, or git holds its lock.
 */
export async function replace(change: FileChange, id: string): Promise<void> {
  const { path, before, after, isGitConfig } = change;
  const temporary = temporaryOf(path, id);
  const lock = lockOf(path);
  try {
    if (isGitConfig) await takeLock(temporary, lock, path);
    if (!isSame(bytesOf(path), before)) {
      const says = `Cannot change '${path}': another program changed it at the same time. Try again`;
      throw new TrunklineError("unavailable", says);
    }
    if (after === undefined) await rm(path, { force: true });
    else await rename(isGitConfig ? lock : temporary, path);
  } catch (error) {
    await discard(change, id);
    throw unwritable(path, error);
  }
  if (after === undefined) await discard(change, id);
  else if (isGitConfig) await unlink(temporary);
}

/** Changes a file that git does not write, whole or not at all. */
export async function changeFile(wanted: Omit<FileChange, "isGitConfig">): Promise<void> {
  const change = { ...wanted, isGitConfig: false };
  const id = crypto.randomUUID();
  await prepare(change, id);
  await replace(change, id);
}

/**
 * The lock is a hard link to the prepared file, so that a later process can tell that it is ours.
 */
async function takeLock(temporary: string, lock: string, path: string): Promise<void> {
  const giveUpAt = Date.now() + LOCK_WAIT;
  for (;;) {
    try {
      await link(temporary, lock);
      return;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "EEXIST" || Date.now() > giveUpAt) {
        const held = `git holds '${lock}'. If no git is running, delete that file`;
        const why = code === "EEXIST" ? held : message;
        throw new TrunklineError("unavailable", `Cannot change '${path}': ${why}`, {
          cause: error,
        });
      }
    }
    await delay(5 + Math.random() * 20);
  }
}

/** Removes what a change has left: the prepared file, and the lock if it is ours. */
export async function discard({ path }: FileChange, id: string): Promise<void> {
  const temporary = temporaryOf(path, id);
  const [own, lock] = await Promise.all([inodeOf(temporary), inodeOf(lockOf(path))]);
  if (own === undefined) return;
  if (own === lock) await rm(lockOf(path), { force: true });
  await rm(temporary, { force: true });
}

async function inodeOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
}

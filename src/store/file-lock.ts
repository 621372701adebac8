import { closeSync, openSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { isBusy, sqliteWords } from "./sqlite-words.ts";

const LONGEST_WAIT = 10_000;

/** A file lock, held until it is disposed of. */
export class FileLock implements Disposable {
  readonly #database: DatabaseSync;
  /** The file to remove when the lock is released. */
  readonly #removed: string | undefined;

  private constructor(database: DatabaseSync, removed?: string) {
    this.#database = database;
    this.#removed = removed;
  }

  /**
   * Waits for the lock of a file. The operating system releases it when the process ends, even after a
   * crash, so nobody has to guess whether the holder is alive. SQLite takes the lock, since Node has no
   * API for file locks; the file stays empty.
   */
  static async take(path: string, longestWait = LONGEST_WAIT): Promise<FileLock> {
    return await patiently(path, longestWait, () => new FileLock(lockFile(path)));
  }

  /** Like `take`, but the file exists only while it is locked. Everybody who locks it must use this. */
  static async takeBrief(path: string, longestWait = LONGEST_WAIT): Promise<FileLock> {
    return await patiently(path, longestWait, () => new FileLock(lockNamed(path), path));
  }

  /** Whether somebody has the lock now. The check does not prevent others from taking it. */
  static isTaken(path: string): boolean {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    // Without permission to read the file, the lock counts as taken.
    return attempt(() => {
      using database = new DatabaseSync(path, { timeout: 0, readOnly: true });
      database.prepare("SELECT count(*) FROM sqlite_schema").get();
      return false;
    }, true);
  }

  [Symbol.dispose](): void {
    // A second time it would remove the file of the next holder.
    if (!this.#database.isOpen) return;
    const removed = this.#removed;
    // While it is still locked: afterwards it may be somebody else's. Where it fails, an empty file stays.
    if (removed !== undefined) attempt(() => rmSync(removed, { force: true }));
    this.#database.close();
  }
}

/** Tries to lock until nobody else has the lock. */
async function patiently<T>(path: string, longestWait: number, lock: () => T): Promise<T> {
  const giveUpAt = Date.now() + longestWait;
  for (;;) {
    try {
      return lock();
    } catch (error) {
      if (!isBusy(error) || Date.now() > giveUpAt) {
        const why = isBusy(error)
          ? `another process has held it for ${longestWait} ms`
          : sqliteWords(path, error);
        throw new TrunklineError("unavailable", `Cannot lock '${path}': ${why}`, { cause: error });
      }
    }
    // Loaded only here: most locks are free, and loading it takes almost a millisecond of each start.
    await delay(1 + Math.random() * 10);
  }
}

/**
 * Locks the file that currently has this name. Holders remove their file, so a file that was removed
 * between opening and locking is not the lock: then it tries again.
 */
function lockNamed(path: string): DatabaseSync {
  for (;;) {
    makeNew(path);
    const before = inodeOf(path);
    const database = lockFile(path);
    if (before !== undefined && before === inodeOf(path)) return database;
    database.close();
  }
}

/**
 * Makes a file if it is not there. An existing one is not opened: closing it would release our locks. False if
 * it is there.
 */
export function makeNew(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { throwIfNoEntry: false, bigint: true })?.ino;
}

/** Locks a file or throws. Opens the file each time, since it may have been replaced. */
export function lockFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // In a read-only file SQLite takes no lock and reports no error, so something is written, which fails
    // there. The transaction is never committed, and its journal stays in memory.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../base/errors.ts";

const LONGEST_WAIT = 10_000;
/** SQLite's code for a lock that somebody else has. */
const BUSY = 5;

/** A lock that is ours until it is disposed of. */
export class FileLock implements Disposable {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Waits for a lock that all processes know by its file. It is the operating system's: it ends
   * with its holder, however that ends, and nobody has to guess whether the holder is still alive.
   * SQLite is used for it alone, Node having no other way; the file stays empty.
   */
  static async take(path: string, longestWait = LONGEST_WAIT): Promise<FileLock> {
    const giveUpAt = Date.now() + longestWait;
    for (;;) {
      try {
        return new FileLock(lockFile(path));
      } catch (error) {
        const { errcode, message } = error as Error & { errcode?: number };
        if (errcode !== BUSY || Date.now() > giveUpAt) {
          const why =
            errcode === BUSY ? `another process has held it for ${longestWait} ms` : message;
          const says = `Cannot lock '${path}': ${why}`;
          throw new TrunklineError("unavailable", says, { cause: error });
        }
      }
      await delay(1 + Math.random() * 10);
    }
  }

  /**
   * Whether another process, or another holder in this one, has the lock now. Looking keeps nobody
   * from taking it.
   */
  static isTaken(path: string): boolean {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path, { timeout: 0, readOnly: true });
      database.prepare("SELECT count(*) FROM sqlite_schema").get();
      return false;
    } catch {
      // It may also be that we may not look, and then nobody can say that it is free.
      return true;
    } finally {
      database?.close();
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/**
 * Locks a file at once, or throws. Opens it each time: that of old may be gone, and another have
 * taken its place.
 */
export function lockFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // In a file that we may only read, nothing is locked, and nothing said: so something is written,
    // which fails there. It is never brought to the end, and stays in memory.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { TrunklineError } from "../base/errors.ts";

/**
 * Milliseconds that SQLite may wait for another process by itself. Everything stands still while it
 * does, so it is short: the longer wait is ours, and lets others go on.
 */
const SHORT_WAIT = 20;
const LONGEST_WAIT = 10_000;

/** SQLite's codes, the low byte of which says what kind. */
const BUSY = 5;
const LOCKED = 6;

/**
 * A file of SQLite's that several processes read and write. A transaction that has ended is on disk,
 * not only on its way: `synchronous = FULL` waits for the disk at each, where `NORMAL` could lose
 * the last ones when the power fails.
 */
export class Database implements Disposable {
  readonly path: string;
  readonly #database: DatabaseSync;

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
  }

  /**
   * Opens a file, or makes it, for its owner's eyes only. `migrations` are what makes of an empty
   * file the present one, step by step; steps that were published never change. `pageSize` is for
   * a file that is new, in bytes; one that is there keeps its own.
   */
  static async open(
    path: string,
    migrations: readonly string[],
    { pageSize = 4096 }: { readonly pageSize?: number } = {},
  ): Promise<Database> {
    let opened: DatabaseSync | undefined;
    try {
      makeFile(path);
      opened = new DatabaseSync(path, { timeout: SHORT_WAIT, enableForeignKeyConstraints: true });
      const database = new Database(path, opened);
      opened.exec(`PRAGMA page_size = ${pageSize}`);
      await database.#patiently((sqlite) => sqlite.exec("PRAGMA journal_mode = WAL"));
      opened.exec("PRAGMA synchronous = FULL");
      await database.#migrate(migrations);
      return database;
    } catch (error) {
      opened?.close();
      if (error instanceof TrunklineError) throw error;
      throw problemWith("open", path, error);
    }
  }

  /** Looks something up. */
  async read<T>(work: (database: DatabaseSync) => T): Promise<T> {
    try {
      return await this.#patiently(work);
    } catch (error) {
      throw problemWith("read", this.path, error);
    }
  }

  /**
   * Changes something, whole or not at all, while no other process does. `work` is done at once, and
   * may be done again: nothing else must come of it. What it throws undoes it.
   */
  async change<T>(work: (database: DatabaseSync) => T): Promise<T> {
    try {
      return await this.#patiently((database) => {
        // Immediate: of two that had both read, one could only fail.
        database.exec("BEGIN IMMEDIATE");
        try {
          const result = work(database);
          database.exec("COMMIT");
          return result;
        } catch (error) {
          if (database.isTransaction) database.exec("ROLLBACK");
          throw error;
        }
      });
    } catch (error) {
      throw problemWith("write", this.path, error);
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  async #migrate(migrations: readonly string[]): Promise<void> {
    if ((await this.read(versionOf)) === migrations.length) return;
    await this.change((database) => {
      // Another process may have been first.
      const version = versionOf(database);
      if (version > migrations.length) {
        const why = "it was made by a newer Trunkline. Use that one, or another data folder";
        throw new TrunklineError("config", `Cannot open '${this.path}': ${why}`);
      }
      for (const migration of migrations.slice(version)) database.exec(migration);
      database.exec(`PRAGMA user_version = ${migrations.length}`);
    });
  }

  /** Tries until no other process is in the way. */
  async #patiently<T>(work: (database: DatabaseSync) => T): Promise<T> {
    const giveUpAt = Date.now() + LONGEST_WAIT;
    for (;;) {
      try {
        return work(this.#database);
      } catch (error) {
        if (!isBusy(error) || Date.now() > giveUpAt) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10));
    }
  }
}

/**
 * Makes the file before SQLite does, whose other files get its mode. Never opens one that is there:
 * closing it would end the locks that SQLite has on it in this process.
 */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  }
}

function versionOf(database: DatabaseSync): number {
  const row = database.prepare("PRAGMA user_version").get();
  return Number(row?.user_version);
}

function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === "number" && [BUSY, LOCKED].includes(errcode & 0xff);
}

function problemWith(verb: string, path: string, cause: unknown): unknown {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "ERR_INVALID_STATE") {
    return new TrunklineError("closed", `Cannot ${verb} '${path}': it was closed`, { cause });
  }
  // Faults of the program stay what they are.
  if (code === undefined || cause instanceof TrunklineError) return cause;
  const next = isBusy(cause) ? `: another process has held it for ${LONGEST_WAIT} ms` : "";
  return new TrunklineError("unavailable", `Cannot ${verb} '${path}': ${message}${next}`, {
    cause,
  });
}

import { chmodSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from "node:sqlite";
import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { makeFolder } from "../base/file/path.ts";
import { LoopBudget } from "../base/limit/loop-budget.ts";
import { processOf } from "../base/process/process-table.ts";
import { makeNew } from "./file-lock.ts";
import { Holder, HOLDERS } from "./holder.ts";
import { sql } from "./sql.ts";
import { isBusy, sqliteWords } from "./sqlite-words.ts";

/** The byte of the file `-shm` whose lock a writer has (SQLite, "WAL-mode File Format" § 2.3.1). */
const WRITE_LOCK = 120;

/**
 * Wakes a process that was stopped (SIGSTOP) in the middle of a change; undefined if there is none. It keeps its
 * lock, so nobody else can change the file. It is resumed until it has finished, and stopped again by the
 * process that gets the lock next: by the function that this returns.
 */
function wakeStopped(path: string): (() => void) | undefined {
  try {
    const { ino } = statSync(`${path}-shm`);
    // proc_locks(5): number, class, kind, access, process, device and inode, first and last byte.
    const locks = readFileSync("/proc/locks", "utf8").split("\n");
    const lock = locks
      .map((line) => line.trim().split(/\s+/))
      .find(([, , , access, , file, first]) => {
        return access === "WRITE" && file?.endsWith(`:${ino}`) && first === String(WRITE_LOCK);
      });
    const pid = Number(lock?.[4]);
    if (processOf(pid)?.isStopped !== true) return undefined;
    process.kill(pid, "SIGCONT");
    // It may have ended.
    return () => attempt(() => process.kill(pid, "SIGSTOP"));
  } catch {
    // Only Linux lists locks, and the process may be another user's.
    return undefined;
  }
}

/**
 * Milliseconds that SQLite itself waits for a lock. It blocks the thread, so it is short; longer waits
 * are timers of ours.
 */
const SHORT_WAIT = 20;
const LONGEST_WAIT = 10_000;
/** Milliseconds after which to check whether the process that has the lock is stopped. */
const STOPPED_AFTER = 1_000;

/** Milliseconds per turn of the event loop for the work of all databases of this process. */
const budget = new LoopBudget(4);

type DatabaseWork<T> = (database: DatabaseSync) => T;

export type Row = Readonly<Record<string, SQLOutputValue>>;

export interface ChangeOptions {
  /**
   * Does not wait for the disk: the change survives the process being killed, but not the machine
   * losing its power.
   */
  readonly isHasty?: boolean;
}

interface DatabaseOptions extends ChangeOptions {
  /** In bytes. It applies to new files. */
  readonly pageSize?: number;
}

/**
 * A SQLite file that several processes read and write. A committed transaction is on disk:
 * `synchronous = FULL` syncs each commit, where `NORMAL` could lose the last ones in a power failure.
 */
export class Database implements Disposable {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #isHasty: boolean;
  readonly #file: Stats;
  /** Stops a process again that was woken. */
  #woken: (() => void) | undefined;
  /** The last of the queued changes. */
  #waiting: Promise<unknown> | undefined;

  private constructor(path: string, database: DatabaseSync, isHasty: boolean) {
    this.path = path;
    this.#database = database;
    this.#isHasty = isHasty;
    this.#file = statSync(path);
  }

  /**
   * Opens or creates a file that only its owner can read. `migrations` lead from an empty file to the
   * current schema; published ones never change.
   */
  static async open(
    path: string,
    migrations: readonly string[],
    { pageSize = 4096, isHasty = false }: DatabaseOptions = {},
  ): Promise<Database> {
    let opened: DatabaseSync | undefined;
    try {
      makeFile(path);
      opened = new DatabaseSync(path, { timeout: SHORT_WAIT, enableForeignKeyConstraints: true });
      const database = new Database(path, opened, isHasty);
      opened.exec(`PRAGMA page_size = ${pageSize}`);
      await database.#patiently((sqlite) => sqlite.exec("PRAGMA journal_mode = WAL"));
      opened.exec(`PRAGMA synchronous = ${isHasty ? "NORMAL" : "FULL"}`);
      await database.#migrate(migrations);
      return database;
    } catch (error) {
      opened?.close();
      if (error instanceof TrunklineError) throw error;
      throw problemWith("open", path, error);
    }
  }

  /** Runs a read. */
  async read<T>(work: DatabaseWork<T>): Promise<T> {
    try {
      return await this.#patiently(work);
    } catch (error) {
      throw problemWith("read", this.path, error);
    }
  }

  /** The first row of a query, which is written with its values in place. */
  get(query: TemplateStringsArray, ...values: SQLInputValue[]): Promise<Row | undefined> {
    return this.read((database) => sql(database).get(query, ...values));
  }

  /** All rows of such a query. */
  all(query: TemplateStringsArray, ...values: SQLInputValue[]): Promise<Row[]> {
    return this.read((database) => sql(database).all(query, ...values));
  }

  /** A change that is one such statement. Resolves to whether it has changed a row. */
  run(statement: TemplateStringsArray, ...values: SQLInputValue[]): Promise<boolean> {
    return this.change((database) => Number(sql(database).run(statement, ...values).changes) > 0);
  }

  /**
   * Changes something, whole or not at all, while no other process does. `work` runs at once, or
   * in a later turn of the event loop if this one is over budget, and may run again: it must have no
   * other side effects. If it throws, the change is rolled back.
   *
   * Changes are made in the order of their calls, also when another process delays them: an earlier
   * call never overwrites a later one.
   */
  async change<T>(work: DatabaseWork<T>, { isHasty = false }: ChangeOptions = {}): Promise<T> {
    const giveUpAt = Date.now() + LONGEST_WAIT;
    const inPlace: DatabaseWork<T> = (database) => {
      this.#stopAgain();
      const result = work(database);
      this.#mustBeInPlace();
      return result;
    };
    const once: DatabaseWork<T> = (database) =>
      transact(database, inPlace, isHasty && !this.#isHasty);
    try {
      if (this.#waiting === undefined && budget.hasRoom) {
        try {
          return budget.spend(() => once(this.#database));
        } catch (error) {
          if (!isBusy(error)) throw error;
        }
      }
      return await this.#afterOthers(() => this.#patiently(once, giveUpAt));
    } catch (error) {
      throw problemWith("write", this.path, error);
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
    budget.letGo();
  }

  /**
   * Throws if the file has another name now, or none. SQLite would continue to write to it, and
   * the data would be lost when the process ends.
   */
  #mustBeInPlace(): void {
    if (isFile(this.path, this.#file)) return;
    const why = "it was removed or replaced while it was open. Start Trunkline again";
    throw new TrunklineError("unavailable", `Cannot write '${this.path}': ${why}`);
  }

  /** Called while this process has the lock, so that the other is not in a change when it is stopped. */
  #stopAgain(): void {
    this.#woken?.();
    this.#woken = undefined;
  }

  async #migrate(migrations: readonly string[]): Promise<void> {
    if ((await this.read(versionOf)) === migrations.length) return;
    await this.change((database) => {
      // Another process may have migrated the file meanwhile.
      const version = versionOf(database);
      if (version > migrations.length) {
        const why = "it was made by a newer Trunkline. Use that one, or another data folder";
        throw new TrunklineError("config", `Cannot open '${this.path}': ${why}`);
      }
      for (const migration of migrations.slice(version)) database.exec(migration);
      database.exec(`PRAGMA user_version = ${migrations.length}`);
    });
  }

  async #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const result = (this.#waiting ?? Promise.resolve()).then(work);
    const settled = Promise.allSettled([result]);
    this.#waiting = settled;
    try {
      return await result;
    } finally {
      if (this.#waiting === settled) this.#waiting = undefined;
    }
  }

  /** Retries while another process has the lock. */
  async #patiently<T>(work: DatabaseWork<T>, giveUpAt = Date.now() + LONGEST_WAIT): Promise<T> {
    const stoppedAt = Date.now() + STOPPED_AFTER;
    for (;;) {
      try {
        return await budget.run(() => work(this.#database));
      } catch (error) {
        if (!isBusy(error) || Date.now() > giveUpAt) {
          this.#stopAgain();
          throw error;
        }
      }
      if (Date.now() > stoppedAt) this.#woken ??= wakeStopped(this.path);
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10));
    }
  }
}

/** Some tables of a database, and the clock for what is written to them. */
export abstract class Tables {
  protected readonly database: Database;
  protected readonly now: () => number;

  constructor(database: Database, now: () => number = Date.now) {
    this.database = database;
    this.now = now;
  }
}

/** The same for rows of which it counts which process has written them, and whether that still runs. */
export abstract class HeldTables extends Tables implements Disposable {
  protected readonly holder = Holder.at(join(dirname(this.database.path), HOLDERS));

  [Symbol.dispose](): void {
    this.database[Symbol.dispose]();
    this.holder[Symbol.dispose]();
  }
}

function transact<T>(database: DatabaseSync, work: DatabaseWork<T>, isHasty: boolean): T {
  // A transaction that could not be rolled back would block all later ones.
  if (database.isTransaction) database.exec("ROLLBACK");
  if (isHasty) database.exec("PRAGMA synchronous = NORMAL");
  try {
    // IMMEDIATE takes the write lock at once: of two deferred transactions that both read, one would fail.
    database.exec("BEGIN IMMEDIATE");
    const result = work(database);
    database.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  } finally {
    if (isHasty && database.isOpen) database.exec("PRAGMA synchronous = FULL");
  }
}

/** Rolls back. On a disk failure SQLite may have ended the transaction itself. */
function rollBack(database: DatabaseSync): void {
  // The first error says more.
  if (database.isOpen && database.isTransaction) attempt(() => database.exec("ROLLBACK"));
}

/**
 * Creates the file with its mode, which SQLite uses for its other files, too. Never opens an existing
 * file: closing it would release SQLite's POSIX locks on it in this process.
 */
function makeFile(path: string): void {
  makeFolder(dirname(path), 0o700);
  if (!makeNew(path) && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/** Whether a path still names the same file. True if the system cannot tell. */
function isFile(path: string, before: Stats): boolean {
  return attempt(() => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.ino === before.ino && found.dev === before.dev;
  }, true);
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.user_version);
}

function problemWith(verb: string, path: string, cause: unknown): unknown {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "ERR_INVALID_STATE") {
    return new TrunklineError("closed", `Cannot ${verb} '${path}': it was closed`, { cause });
  }
  // Errors of the program are not wrapped.
  if (code === undefined || cause instanceof TrunklineError) return cause;
  const why = isBusy(cause)
    ? `${message}: another process has held it for ${LONGEST_WAIT} ms. Try again later.`
    : sqliteWords(path, cause);
  return new TrunklineError("unavailable", `Cannot ${verb} '${path}': ${why}`, { cause });
}

import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, parse } from "node:path";
import type { DatabaseSync } from "node:sqlite";

import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { hasProc, processOf } from "../base/process/process-table.ts";
import { FileLock, lockFile } from "./file-lock.ts";
import { sqliteWords } from "./sqlite-words.ts";

/** Folder of the holders' lock files in the data folder. */
export const HOLDERS = "holders";

const LOCK = ".lock";
/** Extension of the socket on which a holder is reached. */
const SOCKET = ".sock";
/** Extension of a lock file that is not locked yet. */
const NEW = ".new";
const ID = /^\d+-[0-9a-f-]{36}$/;
/** Milliseconds after which a lock file that was never locked is removed. */
const ABANDONED = 60_000;
const ATTEMPTS = 5;

/** One holder for each folder, shared by all users in this process. */
const known = new Map<string, Holder>();

/**
 * Identifies this process to others that share a data folder, as the holder of sessions, claims and
 * tasks. Its id is never reused. While the process lives it has a lock on `ID.lock`, which the operating
 * system releases when it ends, so others can tell whether it is alive. Process ids and host names
 * cannot: both are reused, and each container has its own.
 *
 * Lock files must be opened by SQLite only: POSIX locks belong to the process, and closing any other
 * descriptor of the file would release them.
 */
export class Holder implements Disposable {
  readonly #folder: string;
  readonly #dead = new Set<string>();
  /** Ids that were found alive; cleared after this callback, since a later one may report their exit. */
  readonly #alive = new Set<string>();
  #users = 0;
  #id: string | undefined;
  #lock: DatabaseSync | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** The holder of a folder, whose parent must exist. The lock is taken with the first use of `id`. */
  static at(folder: string): Holder {
    const real = join(realpathSync(dirname(folder)), basename(folder));
    const holder = known.getOrInsertComputed(real, () => new Holder(real));
    holder.#users++;
    return holder;
  }

  /** The id of this process. Takes the lock when it is first used. */
  get id(): string {
    this.#id ??= this.#begin();
    return this.#id;
  }

  /** The id if it was used before; does not take the lock. */
  get known(): string | undefined {
    return this.#id;
  }

  /** Whether the process with this id is alive. */
  isAlive(id: string): boolean {
    if (id === this.#id || this.#alive.has(id)) return true;
    if (this.#dead.has(id)) return false;
    const isAlive = ID.test(id) && FileLock.isTaken(this.#pathOf(id));
    if (!isAlive) this.#dead.add(id);
    else if (this.#alive.add(id).size === 1) process.nextTick(() => this.#alive.clear());
    return isAlive;
  }

  /**
   * The number of the process with this id. Undefined if this process cannot see it: each
   * container numbers its own processes.
   */
  pidOf(id: string): number | undefined {
    const pid = Number.parseInt(id, 10);
    if (!hasProc) return pid;
    const lock = statSync(this.#pathOf(id), { throwIfNoEntry: false });
    if (lock === undefined) return undefined;
    const fds = `/proc/${pid}/fd`;
    return attempt(() => {
      const isIt = readdirSync(fds).some((fd) => {
        const open = statSync(join(fds, fd), { throwIfNoEntry: false });
        return open?.ino === lock.ino && open.dev === lock.dev;
      });
      return isIt ? pid : undefined;
    });
  }

  /** Whether the process with this id is stopped, as by Ctrl-Z or a debugger. */
  isStopped(id: string): boolean {
    const pid = this.pidOf(id);
    return pid !== undefined && processOf(pid)?.isStopped === true;
  }

  /** Releases the lock when the last user disposes of it. */
  [Symbol.dispose](): void {
    if (--this.#users > 0) return;
    known.delete(this.#folder);
    if (this.#id === undefined) return;
    this.#remove(this.#id);
    this.#lock?.close();
    this.#id = this.#lock = undefined;
    this.#removeFolder();
  }

  /** Removes the lock files of processes that were killed. */
  clean(): void {
    for (const name of this.#names()) {
      const { name: id, ext } = parse(name);
      if ((ext === LOCK || ext === SOCKET) && !this.isAlive(id)) this.#remove(id);
      if (ext !== NEW) continue;
      const path = join(this.#folder, name);
      const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
      if (mtimeMs < Date.now() - ABANDONED) rmSync(path, { force: true });
    }
    if (this.#id === undefined && existsSync(this.#folder)) this.#removeFolder();
  }

  /** The ids of the other processes that are alive. */
  others(): string[] {
    const ids = this.#names().flatMap((name) => {
      const { name: id, ext } = parse(name);
      return ext === LOCK && id !== this.#id ? [id] : [];
    });
    return ids.filter((id) => this.isAlive(id));
  }

  #names(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : [];
  }

  #begin(): string {
    const id = `${process.pid}-${crypto.randomUUID()}`;
    for (let attempt = 1; ; attempt++) {
      try {
        this.#lock = this.#lockNew(id);
        break;
      } catch (error) {
        // The last process to leave removes the folder, perhaps just now.
        if (attempt < ATTEMPTS && !existsSync(this.#folder)) continue;
        const path = this.#pathOf(id);
        const says = `Cannot lock '${path}': ${sqliteWords(path, error)}`;
        throw new TrunklineError("unavailable", says, { cause: error });
      }
    }
    this.#id = id;
    this.clean();
    return id;
  }

  #lockNew(id: string): DatabaseSync {
    const unlocked = join(this.#folder, id + NEW);
    let lock: DatabaseSync | undefined;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      lock = lockFile(unlocked);
      // Renamed after it is locked, so that others never see it unlocked.
      renameSync(unlocked, this.#pathOf(id));
      return lock;
    } catch (error) {
      lock?.close();
      rmSync(unlocked, { force: true });
      throw error;
    }
  }

  #pathOf(id: string): string {
    return join(this.#folder, id + LOCK);
  }

  #removeFolder(): void {
    // The folder has lock files of other processes.
    attempt(() => rmdirSync(this.#folder));
  }

  /** Removes a lock file. One that stays is unlocked, and removed by the next process that cleans up. */
  #remove(id: string): void {
    // The lock itself is released anyway.
    attempt(() => {
      rmSync(socketIn(this.#folder, id), { force: true });
      rmSync(this.#pathOf(id), { force: true });
    });
  }
}

/** Where the process with this id is reached by others that share its data folder. */
export function socketIn(folder: string, id: string): string {
  return join(folder, id + SOCKET);
}

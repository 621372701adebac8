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

import { TrunklineError } from "../base/errors.ts";
import { FileLock, lockFile } from "./file-lock.ts";

/** Where the holders of a data folder lie. */
export const HOLDERS = "holders";

const LOCK = ".lock";
/** A lock file before it is locked. */
const NEW = ".new";
const ID = /^\d+-[0-9a-f-]{36}$/;
/** Milliseconds after which a file that was never locked belongs to nobody. */
const ABANDONED = 60_000;
const ATTEMPTS = 5;

/** One for each folder: it is the process that holds something, whoever asks for it. */
const known = new Map<string, Holder>();

/**
 * This process, as one that holds things in a folder which it shares with others: sessions, claims,
 * files that it has moved aside. It is known there by an id that is never used again, and its life
 * is that of a lock which the operating system ends with it: nobody else can lock `ID.lock` while it
 * lives. Process numbers and host names cannot tell: both recur, and each container has its own.
 *
 * Lock files must be opened through SQLite alone. Locks of POSIX belong to the process, and closing
 * any other descriptor of the same file would end them.
 */
export class Holder implements Disposable {
  readonly #folder: string;
  readonly #dead = new Set<string>();
  /** Those that were found alive in this turn of the event loop. */
  readonly #alive = new Set<string>();
  #users = 0;
  #id: string | undefined;
  #lock: DatabaseSync | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Locks nothing until there is something to hold. The folder above must be there. */
  static at(folder: string): Holder {
    const real = join(realpathSync(dirname(folder)), basename(folder));
    const holder = known.get(real) ?? new Holder(real);
    known.set(real, holder);
    holder.#users++;
    return holder;
  }

  /** How others know this process, from now on and until it ends. */
  get id(): string {
    this.#id ??= this.#begin();
    return this.#id;
  }

  /** The same, where this process has held something already. */
  get known(): string | undefined {
    return this.#id;
  }

  /** Whether a process that held something is still there. */
  isAlive(id: string): boolean {
    if (id === this.#id || this.#alive.has(id)) return true;
    if (this.#dead.has(id)) return false;
    const isAlive = ID.test(id) && FileLock.isTaken(this.#pathOf(id));
    if (!isAlive) this.#dead.add(id);
    else if (this.#alive.add(id).size === 1) setImmediate(() => this.#alive.clear());
    return isAlive;
  }

  /** Ends with the last who asked for it. */
  [Symbol.dispose](): void {
    if (--this.#users > 0) return;
    known.delete(this.#folder);
    if (this.#id === undefined) return;
    this.#remove(this.#id);
    this.#lock?.close();
    this.#id = this.#lock = undefined;
    this.#removeFolder();
  }

  /** Removes what others left behind that were killed. */
  clean(): void {
    if (!existsSync(this.#folder)) return;
    for (const name of readdirSync(this.#folder)) {
      const { name: id, ext } = parse(name);
      if (ext === LOCK && !this.isAlive(id)) this.#remove(id);
      if (ext !== NEW) continue;
      const path = join(this.#folder, name);
      const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
      if (mtimeMs < Date.now() - ABANDONED) rmSync(path, { force: true });
    }
    if (this.#id === undefined) this.#removeFolder();
  }

  #begin(): string {
    const id = `${process.pid}-${crypto.randomUUID()}`;
    for (let attempt = 1; ; attempt++) {
      try {
        this.#lock = this.#lockNew(id);
        break;
      } catch (error) {
        // The last to leave removes the folder, which may be in this very moment.
        if (attempt < ATTEMPTS && !existsSync(this.#folder)) continue;
        const says = `Cannot lock '${this.#pathOf(id)}': ${(error as Error).message}`;
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
      // Whoever finds it finds it locked.
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
    try {
      rmdirSync(this.#folder);
    } catch {
      // Others have theirs there.
    }
  }

  /** What stays is free to whoever looks, and removed by the next who can. */
  #remove(id: string): void {
    try {
      rmSync(this.#pathOf(id), { force: true });
    } catch {
      // The lock itself ends with its process, or right after this.
    }
  }
}

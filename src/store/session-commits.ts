import type { Database } from "./database.ts";
import { type Direction, lineOf, type Page, writePages } from "./session-pages.ts";

/** Of the time that passes, at most one part in so many is spent on commits, which stop all else. */
const SHARE = 4;
const LONGEST_GAP = 50;

/**
 * Brings what sessions say to the disk, all that waits in one commit. Commits wait for the disk, so
 * the slower it is the more is brought at a time.
 */
export class SessionCommits {
  readonly #database: Database;
  #pages = new Map<number, Page>();
  #waiting: PromiseWithResolvers<void> | undefined;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endedAt = -Infinity;
  #cost = 1;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves when the event is on disk. Numbers of one session come in their order. */
  append(session: number, seq: number, direction: Direction, text: string): Promise<void> {
    const line = lineOf(seq, direction, text);
    const page = this.#pages.get(session);
    if (page === undefined) {
      this.#pages.set(session, { session, first: seq, last: seq, lines: line });
    } else {
      page.last = seq;
      page.lines += line;
    }
    if (this.#waiting === undefined) {
      this.#waiting = Promise.withResolvers<void>();
      // Whoever appends may have no use for the outcome.
      this.#waiting.promise.catch(() => {});
      this.#schedule();
    }
    return this.#waiting.promise;
  }

  /** Resolves when all that was appended is on disk, or could not be brought there. */
  async flush(): Promise<void> {
    while (this.#waiting !== undefined || this.#running !== undefined) {
      if (this.#running === undefined) this.#start();
      await this.#running;
    }
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#timer !== undefined) return;
    const gap = Math.min(this.#cost * SHARE, LONGEST_GAP);
    const wait = this.#endedAt + gap - performance.now();
    if (wait <= 1) setImmediate(this.#start);
    else this.#timer = setTimeout(this.#start, wait);
  }

  readonly #start = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#running === undefined && this.#waiting !== undefined) {
      this.#running = this.#commit(this.#waiting);
    }
  };

  async #commit(waiting: PromiseWithResolvers<void>): Promise<void> {
    const pages = this.#pages;
    this.#pages = new Map();
    this.#waiting = undefined;
    const began = performance.now();
    try {
      await this.#database.change((database) => writePages(database, pages.values()));
      waiting.resolve();
    } catch (error) {
      waiting.reject(error);
    }
    this.#endedAt = performance.now();
    this.#cost += (this.#endedAt - began - this.#cost) / 8;
    this.#running = undefined;
    if (this.#waiting !== undefined) this.#schedule();
  }
}

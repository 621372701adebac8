import type { AppendResult } from "../../session/store.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Database } from "../database.ts";
import { type Direction, lineOf, textLineOf, writeHeldPages } from "./session-pages.ts";

/** Commits block the thread, so they get at most 1/SHARE of the time. */
const SHARE = 4;
const LONGEST_GAP = 50;

/** The same with the events themselves, which are complete when they are stored. */
export interface AppendedPage extends AppendResult {
  readonly first: number;
  readonly lines: string;
}

/** A session that is open in this process. */
interface Writer {
  /** Number of its last event. */
  last: number;
  /** Grows with each process that takes the session. Events of an earlier epoch are refused. */
  epoch: number;
  /** Events for the next commit. */
  page: PendingPage | undefined;
}

type PendingPage = ReturnType<typeof pendingPage>;

function pendingPage(session: number, writer: Writer) {
  const { promise: stored, resolve, reject } = Promise.withResolvers<void>();
  // Callers may check `failure` instead.
  stored.catch(() => {});
  return {
    session,
    writer,
    first: writer.last,
    last: writer.last,
    /** The time of the last event. */
    at: 0,
    lines: "",
    failure: undefined as Error | undefined,
    stored,
    resolve,
    get epoch(): number {
      return writer.epoch;
    },
    fail(error: Error): void {
      this.failure = error;
      reject(error);
    },
  };
}

/**
 * Writes the events of all sessions in group commits: all events that wait go into one. The slower the
 * disk, the more events go into a commit.
 *
 * A failed commit leaves no gap in the numbers: events that a session appended after it fail as well, and
 * the next event gets the number after the last one on disk.
 */
export class SessionCommits {
  readonly #database: Database;
  readonly #lost: (session: number) => Error;
  readonly #writers = new Map<number, Writer>();
  #pages = new Set<PendingPage>();
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endedAt = -Infinity;
  #cost = 1;

  /** `lost` is called for each session that another process has taken. It returns the error of its events. */
  constructor(database: Database, lost: (session: number) => Error) {
    this.#database = database;
    this.#lost = lost;
  }

  /** Accepts events of a session, whose last event has the number `last`. */
  begin(session: number, last: number, epoch: number): void {
    const writer = this.#writers.get(session);
    if (writer === undefined) this.#writers.set(session, { last, epoch, page: undefined });
    else writer.epoch = epoch;
  }

  /** Accepts no more events of a session. */
  end(session: number): void {
    this.#writers.delete(session);
  }

  append(session: number, direction: Direction, message: string, text?: string): AppendedPage {
    const writer = this.#writers.get(session);
    if (writer === undefined) return notOpen(session);
    const seq = ++writer.last;
    const page = (writer.page ??= this.#add(session, writer));
    page.last = seq;
    const isWhole = text === undefined || page.lines === "";
    const now = Date.now();
    page.lines += isWhole ? lineOf(seq, direction, message, now) : textLineOf(text, now - page.at);
    page.at = now;
    return page;
  }

  /** Resolves when all appended events are on disk or have failed. */
  async flush(): Promise<void> {
    while (this.#pages.size > 0 || this.#running !== undefined) {
      if (this.#running === undefined) this.#start();
      await this.#running;
    }
  }

  #add(session: number, writer: Writer): PendingPage {
    const page = pendingPage(session, writer);
    this.#pages.add(page);
    if (this.#pages.size === 1) this.#schedule();
    return page;
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#timer !== undefined) return;
    const wait = this.#endedAt + Math.min(this.#cost * SHARE, LONGEST_GAP) - performance.now();
    if (wait <= 1) setImmediate(this.#start);
    else this.#timer = setTimeout(this.#start, wait);
  }

  readonly #start = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#running === undefined && this.#pages.size > 0) this.#running = this.#commit();
  };

  async #commit(): Promise<void> {
    const pages = this.#pages;
    this.#pages = new Set();
    for (const { writer } of pages) writer.page = undefined;
    const began = performance.now();
    try {
      const lost = await this.#database.change((database) => writeHeldPages(database, pages));
      for (const page of lost) {
        pages.delete(page);
        this.#fail(page, this.#lost(page.session));
      }
      for (const page of pages) page.resolve();
    } catch (error) {
      for (const page of pages) this.#fail(page, error as Error);
    }
    this.#endedAt = performance.now();
    this.#cost += (this.#endedAt - began - this.#cost) / 8;
    this.#running = undefined;
    if (this.#pages.size > 0) this.#schedule();
  }

  #fail(page: PendingPage, error: Error): void {
    const { writer } = page;
    const later = writer.page;
    writer.page = undefined;
    writer.last = page.first - 1;
    page.fail(error);
    if (later === undefined) return;
    this.#pages.delete(later);
    later.fail(error);
  }
}

function notOpen(session: number): AppendedPage {
  const failure = new TrunklineError("closed", `Session ${session} is not open here`);
  const stored = Promise.reject(failure);
  stored.catch(() => {});
  return { first: 0, last: 0, lines: "", stored, failure };
}

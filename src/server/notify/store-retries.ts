import { setTimeout as delay } from "node:timers/promises";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import type { Log } from "../../base/log.ts";

export interface StoreRetriesOptions {
  readonly log: Log;
  /** Milliseconds before the second attempt; each further one waits twice as long. */
  readonly firstWait?: number;
}

const FIRST_WAIT = 1_000;
const LIMITS = { longestWait: 60_000, mostFailures: Infinity, rest: 60_000 };
/** Changes that wait in memory while the store fails. */
const MOST_WAITING = 1_000;

/**
 * Stores changes one after the other, and repeats one that fails while its reason may go away: nobody else
 * would tell a person of a notification that was not stored because the disk was full for a minute.
 */
export class StoreRetries implements AsyncDisposable {
  readonly #log: Log;
  readonly #backoff: Backoff;
  readonly #over = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor({ log, firstWait = FIRST_WAIT }: StoreRetriesOptions) {
    this.#log = log;
    this.#backoff = new Backoff({ ...LIMITS, firstWait });
  }

  add(change: () => Promise<unknown>): void {
    if (this.#waiting >= MOST_WAITING) {
      const why = `${MOST_WAITING} earlier ones wait until the store works again`;
      return this.#log.error("notify.lost", { why });
    }
    this.#waiting++;
    this.#last = this.#last.then(() => this.#store(change)).finally(() => this.#waiting--);
    return background(this.#last, "Storing a notification");
  }

  /** Tries what waits once more, and ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#last;
  }

  async #store(change: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#over;
    for (;;) {
      const isLast = signal.aborted;
      try {
        await change();
        return this.#backoff.succeeded();
      } catch (error) {
        const mayPass = error instanceof TrunklineError && error.code === "unavailable";
        if (!mayPass || isLast) return this.#log.error("notify.lost", { error });
        this.#log.warn("notify.not-stored", { error });
      }
      const wait = this.#backoff.failed();
      await delay(wait, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

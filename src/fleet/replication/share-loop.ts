import { setTimeout as delay } from "node:timers/promises";

import type { ChangeStream, Published } from "./change-stream.ts";

/** Milliseconds between two looks at what is to be sent. */
const LOOK_EVERY = 200;
/** Milliseconds until NATS is tried again. */
const RETRY_AFTER = 500;
/** Messages that are applied at once: meanwhile this process does nothing else. */
const MOST_AT_ONCE = 32;

export interface ShareLoopOptions {
  readonly stream: ChangeStream;
  /** The last message that was applied, of the stream that was created then. */
  readonly begin: (created: string) => Promise<number>;
  /** Applies messages in their order. Never at the same time as `send`. */
  readonly apply: (messages: readonly Published[]) => Promise<void>;
  /** Sends what is to be sent. Not called before all that was there at the beginning is applied. */
  readonly send: () => Promise<void>;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** How the sharing goes, for people. */
export interface SharingStatus {
  /** This node has what the others had when it joined, and the others have what it had. */
  readonly isUpToDate: boolean;
  /** Why changes cannot be sent or read; undefined while they can. */
  readonly problem?: string;
}

/** Reads a stream and sends to it, as long as it lives: a failure of NATS or of a store is retried. */
export class ShareLoop implements AsyncDisposable {
  readonly #options: ShareLoopOptions;
  readonly #over = new AbortController();
  readonly #running: Promise<void>;
  #lane: Promise<unknown> = Promise.resolve();
  #isCaughtUp = false;
  #isUpToDate = false;
  #problem: string | undefined;

  constructor(options: ShareLoopOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get status(): SharingStatus {
    const problem = this.#problem;
    return { isUpToDate: this.#isUpToDate, ...(problem === undefined ? {} : { problem }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      try {
        await this.#share();
      } catch (error) {
        this.#isUpToDate = false;
        if (!signal.aborted) this.#failed(error);
      }
      await pause(RETRY_AFTER, signal);
    }
  }

  #failed(error: unknown): void {
    const { message } = error as Error;
    if (message === this.#problem) return;
    this.#problem = message;
    this.#options.report("shared.interrupted", { stream: this.#options.stream.name, error });
  }

  /** Reads and sends until one of them fails, which ends the other. */
  async #share(): Promise<void> {
    const { created, last } = await this.#options.stream.open();
    const after = await this.#options.begin(created);
    this.#isCaughtUp = after >= last;
    const round = new AbortController();
    const signal = AbortSignal.any([round.signal, this.#over.signal]);
    const both = [this.#receive(after, last, signal), this.#send(signal)];
    const ended = await Promise.allSettled(both.map((work) => work.finally(() => round.abort())));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  }

  async #receive(after: number, last: number, signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const both = AbortSignal.any([signal, failed.signal]);
    const messages = this.#options.stream.follow(after, both);
    let next = handled(messages.next());
    try {
      for (let first = await next; first.done !== true; first = await next) {
        const batch = [first.value];
        next = handled(messages.next());
        // Whatever else is here already is applied in the same transaction.
        while (batch.length < MOST_AT_ONCE) {
          const more = await Promise.race([next, nextTurn()]);
          if (more === undefined || more.done === true) break;
          batch.push(more.value);
          next = handled(messages.next());
        }
        await this.#inLane(() => this.#options.apply(batch));
        if ((batch.at(-1)?.seq ?? 0) >= last) this.#isCaughtUp = true;
      }
    } finally {
      failed.abort();
      await next.catch(() => {});
    }
  }

  async #send(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#isCaughtUp) {
        await this.#inLane(() => this.#options.send());
        this.#isUpToDate = true;
        this.#problem = undefined;
      }
      await pause(LOOK_EVERY, signal);
    }
  }

  /** One after the other: a row is not sent while it is changed. */
  #inLane<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lane.then(work);
    this.#lane = result.catch(() => {});
    return result;
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}

/** It may fail before somebody waits for it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

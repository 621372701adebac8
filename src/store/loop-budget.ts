interface Waiting {
  readonly work: () => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Work that holds the thread, such as SQLite's, so much of it in one turn of the event loop: what
 * comes beyond waits for the next turn, in order, so that a flood of requests to one connection does
 * not keep all others waiting until the last of it is done.
 */
export class LoopBudget {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #spent = 0;
  #isScheduled = false;

  /** Milliseconds of work in one turn; the piece that goes beyond is done, and is the last. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether this turn has room for more, and nobody waits for it. */
  get hasRoom(): boolean {
    return this.#waiting.length === 0 && this.#spent < this.#most;
  }

  /** Does the work where there is room for it: at once, or in a later turn. */
  async run<T>(work: () => T): Promise<T> {
    if (this.hasRoom) return this.spend(work);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ work, resolve, reject });
    return promise as Promise<T>;
  }

  /** Does the work at once. */
  spend<T>(work: () => T): T {
    const began = performance.now();
    try {
      return work();
    } finally {
      this.#spent += performance.now() - began;
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#isScheduled = false;
    this.#spent = 0;
    while (this.#spent < this.#most) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      try {
        next.resolve(this.spend(next.work));
      } catch (error) {
        next.reject(error);
      }
    }
  };
}

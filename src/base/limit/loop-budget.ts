interface QueuedWork {
  readonly work: () => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Limits synchronous work, such as SQLite's or that of one guest, in one turn of the event loop. Work
 * above the limit waits for the next turn, in order, so that a flood of requests on one connection does
 * not block the others.
 */
export class LoopBudget {
  readonly #mostTime: number;
  readonly #mostPieces: number;
  readonly #now: () => number;
  readonly #waiting: QueuedWork[] = [];
  #spent = 0;
  #pieces = 0;
  #scheduled: NodeJS.Immediate | undefined;

  /** Milliseconds and pieces of work in one turn. The piece that exceeds the time is the last. */
  constructor(mostTime: number, mostPieces = Infinity, clock = () => performance.now()) {
    this.#mostTime = mostTime;
    this.#mostPieces = mostPieces;
    this.#now = clock;
  }

  /** Whether work can run at once: the turn has time left and the queue is empty. */
  get hasRoom(): boolean {
    return this.#waiting.length === 0 && this.#hasTime;
  }

  /** Runs the work at once, or in a later turn. */
  async run<T>(work: () => T): Promise<T> {
    if (this.hasRoom) return this.spend(work);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ work, resolve, reject });
    this.#scheduled?.ref();
    return promise as Promise<T>;
  }

  /** Runs the work at once and counts its time. */
  spend<T>(work: () => T): T {
    const began = this.#now();
    try {
      return work();
    } finally {
      this.#spent += this.#now() - began;
      this.#pieces++;
      this.#scheduled ??= setImmediate(this.#next);
    }
  }

  /** Keeps the process alive for waiting work only, and no longer for the next turn. */
  letGo(): void {
    if (this.#waiting.length === 0) this.#scheduled?.unref();
  }

  get #hasTime(): boolean {
    return this.#spent < this.#mostTime && this.#pieces < this.#mostPieces;
  }

  readonly #next = (): void => {
    this.#scheduled = undefined;
    this.#spent = this.#pieces = 0;
    while (this.#hasTime) {
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

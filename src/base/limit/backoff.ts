/** How hard something that fails is tried again. */
export interface BackoffLimits {
  /** Milliseconds before the first attempt after a failure; each further one doubles it. */
  readonly firstWait: number;
  readonly longestWait: number;
  /** Failures in a row after which it is left alone for a while. */
  readonly mostFailures: number;
  /** Milliseconds that it is left alone for. */
  readonly rest: number;
}

/** When to try again after failures, and when to stop trying for a while. */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #failures = 0;

  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  /** It failed so often in a row that it is left alone. One attempt after the rest decides anew. */
  get isOpen(): boolean {
    return this.#failures >= this.#limits.mostFailures;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** Counts a failure. Returns the milliseconds until the next attempt. */
  failed(): number {
    this.#failures++;
    const { firstWait, longestWait, rest } = this.#limits;
    const wait = this.isOpen ? rest : Math.min(longestWait, firstWait * 2 ** (this.#failures - 1));
    // Half of it at random, so that many that failed together do not come back together.
    return Math.round(wait * (0.5 + this.#random() / 2));
  }
}

/** How often something that fails is retried. */
export interface BackoffLimits {
  /** Milliseconds before the first retry; each further retry doubles it. */
  readonly firstWait: number;
  readonly longestWait: number;
  /** Failures in a row after which the circuit opens. */
  readonly mostFailures: number;
  /** Milliseconds that the circuit stays open. */
  readonly rest: number;
}

/** Says when to retry after failures, and when to stop for a while (a circuit breaker). */
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

  /** The circuit is open: there is no retry until `rest` is over. The attempt after it decides. */
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
    // Half of it is random, so that many that failed together do not retry together.
    return Math.round(wait * (0.5 + this.#random() / 2));
  }
}

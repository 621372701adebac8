/** Lets at most `limit` pass in each window of time, and counts the others. */
export class Throttle {
  readonly #limit: number;
  readonly #window: number;
  readonly #leftOut: (count: number) => void;
  readonly #now: () => number;
  #windowEnds = -Infinity;
  #passed = 0;
  #left = 0;

  /** `leftOut` is called in the next window with the number that did not pass. */
  constructor(
    rate: { readonly limit: number; readonly windowMs: number },
    leftOut: (count: number) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#limit = rate.limit;
    this.#window = rate.windowMs;
    this.#leftOut = leftOut;
    this.#now = now;
  }

  /** Whether one more may pass. */
  take(): boolean {
    const now = this.#now();
    if (now >= this.#windowEnds) {
      const left = this.#left;
      this.#windowEnds = now + this.#window;
      this.#passed = 0;
      this.#left = 0;
      if (left > 0) this.#leftOut(left);
    }
    if (this.#passed < this.#limit) {
      this.#passed++;
      return true;
    }
    this.#left++;
    return false;
  }
}

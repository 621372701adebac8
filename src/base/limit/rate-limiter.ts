/** At most `limit` calls in any `windowMs` milliseconds, counted for each key. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Keys that are kept at once, so that a caller who makes up keys cannot fill the memory. */
const MAX_KEYS = 65_536;
/** Longer keys, which no real name has, share one count. */
const LONGEST_KEY = 256;

/**
 * A sliding window: in no stretch of `windowMs` does one key pass more than `limit` times. A token
 * bucket would let twice as many through in a window that begins with a full bucket.
 */
export class RateLimiter {
  readonly rate: Rate;
  readonly #now: () => number;
  /** When each key passed, in the order of their last passes. */
  readonly #keys = new Map<string, number[]>();

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.rate = rate;
    this.#now = now;
  }

  /** Counts one call. Returns 0 when it may pass, else the milliseconds until one may. */
  take(key: string): number {
    const now = this.#now();
    const name = key.length > LONGEST_KEY ? "" : key;
    const known = this.#keys.get(name);
    const wait = known === undefined ? this.#forget(now) : 0;
    if (wait > 0) return wait;
    const passes = known ?? [];
    const { limit, windowMs } = this.rate;
    while (passes[0] !== undefined && passes[0] + windowMs <= now) passes.shift();
    const [oldest = now] = passes;
    if (passes.length >= limit) return Math.max(1, Math.ceil(oldest + windowMs - now));
    passes.push(now);
    this.#keys.delete(name);
    this.#keys.set(name, passes);
    return 0;
  }

  /** Drops the keys whose last pass has left the window. Returns how long a new one has to wait. */
  #forget(now: number): number {
    for (const [key, passes] of this.#keys) {
      const freeAt = (passes.at(-1) ?? 0) + this.rate.windowMs;
      if (freeAt > now)
        return this.#keys.size < MAX_KEYS ? 0 : Math.max(1, Math.ceil(freeAt - now));
      this.#keys.delete(key);
    }
    return 0;
  }
}

/** Limits the messages of each key, and counts those that it leaves out. */
export class Throttle {
  readonly #rate: RateLimiter;
  readonly #leftOut = new Map<string, number>();

  constructor(rate: Rate, now?: () => number) {
    this.#rate = new RateLimiter(rate, now);
  }

  /** How many were left out since one last passed; undefined where this one is left out, too. */
  take(key = ""): number | undefined {
    const leftOut = this.#leftOut.get(key) ?? 0;
    if (this.#rate.take(key) > 0) {
      this.#leftOut.set(key, leftOut + 1);
      return undefined;
    }
    this.#leftOut.delete(key);
    return leftOut;
  }
}

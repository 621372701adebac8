/** So many calls in so long, counted for each key apart. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Keys that are known at once: a caller who makes up keys must not grow the table at will. */
const MAX_KEYS = 65_536;
/** Longer than the name of anything; all such keys count as one. */
const LONGEST_KEY = 256;

/**
 * A sliding window: in no stretch of `windowMs` does one key pass more than `limit` times. A token
 * bucket would let twice as many through in a window that begins with a full bucket.
 */
export class RateLimiter {
  readonly rate: Rate;
  readonly #now: () => number;
  /** In the order of their last passes. */
  readonly #keys = new Map<string, Passes>();

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
    const passes = known ?? newPasses(this.rate.limit);
    const refused = this.#take(passes, now);
    if (refused > 0) return refused;
    this.#keys.delete(name);
    this.#keys.set(name, passes);
    return 0;
  }

  #take(passes: Passes, now: number): number {
    if (passes.count === passes.times.length) {
      // `next` is the oldest of a full ring.
      const oldest = passes.times[passes.next] ?? now;
      const freeAt = oldest + this.rate.windowMs;
      if (passes.times.length < this.rate.limit && freeAt > now) grow(passes, this.rate.limit);
      else if (freeAt > now) return Math.max(1, Math.ceil(freeAt - now));
    }
    passes.times[passes.next] = now;
    passes.next = (passes.next + 1) % passes.times.length;
    passes.count = Math.min(passes.count + 1, passes.times.length);
    return 0;
  }

  /** Drops the keys whose last pass has left the window. Returns how long a new one has to wait. */
  #forget(now: number): number {
    for (const [key, { times, next }] of this.#keys) {
      const newest = times[(next + times.length - 1) % times.length] ?? 0;
      const freeAt = newest + this.rate.windowMs;
      if (freeAt > now)
        return this.#keys.size < MAX_KEYS ? 0 : Math.max(1, Math.ceil(freeAt - now));
      this.#keys.delete(key);
    }
    return 0;
  }
}

/** When one key passed: a ring that starts small, since most keys are quiet. */
interface Passes {
  times: Float64Array;
  next: number;
  count: number;
}

function newPasses(limit: number): Passes {
  return { times: new Float64Array(Math.min(limit, 8)), next: 0, count: 0 };
}

function grow(passes: Passes, limit: number): void {
  const { times, next } = passes;
  const grown = new Float64Array(Math.min(times.length * 2, limit));
  grown.set(times.subarray(next));
  grown.set(times.subarray(0, next), times.length - next);
  passes.times = grown;
  passes.next = times.length;
  passes.count = times.length;
}

/** Lets messages of each key pass at a rate, and counts those that do not. */
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

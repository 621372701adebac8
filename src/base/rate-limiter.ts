/** So many calls in so long, counted for each key apart. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Keys are swept when this many are known, so that a caller cannot grow the table at will. */
const SWEEP_AT = 1024;

/**
 * A sliding window: in no stretch of `windowMs` does one key pass more than `limit` times. A token
 * bucket would let twice as many through in a window that begins with a full bucket.
 */
export class RateLimiter {
  readonly rate: Rate;
  readonly #now: () => number;
  readonly #keys = new Map<string, Passes>();
  #sweepAt = SWEEP_AT;

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.rate = rate;
    this.#now = now;
  }

  /** Counts one call. Returns 0 when it may pass, else the milliseconds until one may. */
  take(key: string): number {
    const now = this.#now();
    let passes = this.#keys.get(key);
    if (passes === undefined) {
      this.#sweep(now);
      passes = { times: new Float64Array(Math.min(this.rate.limit, 8)), next: 0, count: 0 };
      this.#keys.set(key, passes);
    }
    return this.#take(passes, now);
  }

  #take(passes: Passes, now: number): number {
    if (passes.count === passes.times.length) {
      // `next` is the oldest of a full ring.
      const oldest = passes.times[passes.next] ?? 0;
      const freeAt = oldest + this.rate.windowMs;
      if (passes.times.length < this.rate.limit && freeAt > now) grow(passes, this.rate.limit);
      else if (freeAt > now) return Math.max(1, Math.ceil(freeAt - now));
    }
    passes.times[passes.next] = now;
    passes.next = (passes.next + 1) % passes.times.length;
    passes.count = Math.min(passes.count + 1, passes.times.length);
    return 0;
  }

  /** Forgets the keys whose last call has left the window. */
  #sweep(now: number): void {
    if (this.#keys.size < this.#sweepAt) return;
    for (const [key, { times, next }] of this.#keys) {
      const newest = times[(next + times.length - 1) % times.length] ?? 0;
      if (newest + this.rate.windowMs <= now) this.#keys.delete(key);
    }
    this.#sweepAt = Math.max(SWEEP_AT, this.#keys.size * 2);
  }
}

/** When one key passed: a ring that starts small, since most keys are quiet. */
interface Passes {
  times: Float64Array;
  next: number;
  count: number;
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

/** Chance that can be repeated: the same seed gives the same choices (mulberry32). */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  /** True once in `times`, on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** The same bytes in chunks of a random length, none longer than `longest`. */
  cut(bytes: Buffer, longest: number): Buffer[] {
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + this.below(longest);
      chunks.push(bytes.subarray(at, end));
      at = end;
    }
    return chunks;
  }
}

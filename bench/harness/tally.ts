/** Counts what has arrived and was right, for those who wait until enough has. */
export class Tally {
  #count = 0;
  #wanted = 0;
  #wrong: Error | undefined;
  #reached = Promise.withResolvers<void>();

  get count(): number {
    return this.#count;
  }

  add(): void {
    this.#count++;
    if (this.#count === this.#wanted) this.#reached.resolve();
  }

  /** Something else arrived than what was expected: whoever waits hears of it. */
  wrong(message: string): void {
    this.#wrong ??= new Error(message);
    this.#reached.reject(this.#wrong);
    this.#reached.promise.catch(() => {});
  }

  /** Resolves when the count has come to `wanted`. One may wait at a time. */
  reach(wanted: number): Promise<void> {
    if (this.#wrong !== undefined) return Promise.reject(this.#wrong);
    if (this.#count >= wanted) return Promise.resolve();
    this.#wanted = wanted;
    this.#reached = Promise.withResolvers<void>();
    return this.#reached.promise;
  }
}

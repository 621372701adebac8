/** Counts correct answers, and resolves when enough have arrived. */
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

  /** An unexpected answer arrived: rejects the wait. */
  wrong(message: string): void {
    this.#wrong ??= new Error(message);
    this.#reached.reject(this.#wrong);
    this.#reached.promise.catch(() => {});
  }

  /** Resolves when the count has reached `wanted`. Only one caller may wait at a time. */
  reach(wanted: number): Promise<void> {
    if (this.#wrong !== undefined) return Promise.reject(this.#wrong);
    if (this.#count >= wanted) return Promise.resolve();
    this.#wanted = wanted;
    this.#reached = Promise.withResolvers<void>();
    return this.#reached.promise;
  }
}

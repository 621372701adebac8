/** Opens something at the first `get`, once. A failure is not kept: the next `get` tries again. */
export class Lazy<T> {
  readonly #open: () => Promise<T>;
  #opening: Promise<T> | undefined;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  get(): Promise<T> {
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#open();
    this.#opening = opening;
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  /** What was opened or is being opened; undefined if `get` was never called, or opening failed. */
  async opened(): Promise<T | undefined> {
    return await this.#opening?.catch(() => undefined);
  }
}

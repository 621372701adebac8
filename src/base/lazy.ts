/**
 * Something that is opened when it is first wanted. A failure is only that of whoever wanted it: the
 * next one tries again.
 */
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

  /** What was opened, or is being; undefined where nobody wanted it, or it could not be had. */
  async opened(): Promise<T | undefined> {
    return await this.#opening?.catch(() => undefined);
  }
}

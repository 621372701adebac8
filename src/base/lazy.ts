/**
 * Opens something at the first `get`, once. A failure is not kept: the next `get` tries again. Disposes of
 * what it has opened.
 */
export class Lazy<T> implements AsyncDisposable {
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

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = (await this.opened()) as Partial<AsyncDisposable & Disposable> | undefined;
    await opened?.[Symbol.asyncDispose]?.();
    opened?.[Symbol.dispose]?.();
  }
}

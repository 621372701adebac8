/**
 * A word to whoever wants to know that something has changed: once for all the changes of one turn.
 * Whoever listens cannot hurt the others, nor what has changed.
 */
export class Announcement {
  readonly #listeners = new Set<{ readonly call: () => void }>();
  readonly #failed: (error: unknown) => void;
  #isDue = false;

  constructor(failed: (error: unknown) => void = () => {}) {
    this.#failed = failed;
  }

  make(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      // A copy: one that comes while the others are told hears of the next change.
      for (const listener of [...this.#listeners]) {
        if (!this.#listeners.has(listener)) continue;
        try {
          listener.call();
        } catch (error) {
          this.#failed(error);
        }
      }
    });
  }

  /** Returns how to stop listening. */
  on(call: () => void): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

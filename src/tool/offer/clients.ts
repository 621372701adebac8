/** Announces that a client is gone, so that what is kept for it can be dropped. */
export class Clients {
  readonly #listeners = new Set<(client: string) => void>();

  /** `client` is that of `Caller`. */
  gone(client: string): void {
    for (const listener of [...this.#listeners]) listener(client);
  }

  /** Returns how to stop listening. */
  onGone(listener: (client: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

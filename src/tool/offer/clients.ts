/** Tells what keeps something for a client that the client is gone. */
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

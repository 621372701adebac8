/** A stream whose bytes are kept until they are read. */
export interface Holder {
  /** Too much is held for all of them together. */
  giveUp(held: number, limit: number): void;
}

/**
 * Counts the bytes of a connection that have arrived and were not read yet. RFC 9000 § 4.1: unread
 * bytes use up the flow control window of the whole connection. So a stream whose bytes exceed the
 * bound does not make the others wait: the stream that began last is broken off.
 */
export class HeldBytes {
  readonly #limit: number;
  readonly #holders = new Set<Holder>();
  #held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  add(holder: Holder, bytes: number): void {
    this.#holders.add(holder);
    this.#held += bytes;
    if (this.#held > this.#limit) [...this.#holders].at(-1)?.giveUp(this.#held, this.#limit);
  }

  /** Bytes were read. */
  remove(bytes: number): void {
    this.#held -= bytes;
  }

  /** A holder is done, and so many bytes of its are left. */
  leave(holder: Holder, bytes: number): void {
    this.#held -= bytes;
    this.#holders.delete(holder);
  }
}

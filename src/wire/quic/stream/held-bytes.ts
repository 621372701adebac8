/** Someone for whom bytes are held until they are read. */
export interface Holder {
  /** Too much is held for all of them together. */
  giveUp(held: number, limit: number): void;
}

/**
 * How much of a connection is held for those who read its streams. What is not read holds up the
 * whole connection, so beyond the bound nobody is made to wait: whoever came last is given up.
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

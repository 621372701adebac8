import { DEFAULT_LIMITS } from "./limits.ts";

/** Bytes of each holder that are not counted, so that small messages pass even if the budget is used up. */
export const FREE_BYTES = 64 * 1024;

/** A limit on the bytes that several holders have together. */
export class ByteBudget {
  limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /**
   * Takes bytes for a reservation, or returns them if negative. False if there is no room; then nothing
   * changes.
   */
  change(bytes: number, isForced: boolean): boolean {
    if (bytes > 0 && !isForced && this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }
}

/**
 * The bytes of all unfinished bodies and buffered messages of this process together. Each has its own
 * limit too, but a stranger may begin any number of them.
 */
export const BUFFERS = new ByteBudget(DEFAULT_LIMITS.maxBuffered);

/** The bytes that one connection, body or queue has taken from a budget. */
export class ByteReservation {
  readonly #budget: ByteBudget;
  #counted = 0;

  constructor(budget: ByteBudget = BUFFERS) {
    this.#budget = budget;
  }

  /**
   * Sets how many bytes it holds. False if there is no room for more; then nothing changes. Use `isForced`
   * for bytes that cannot be refused, such as the output of our own programs.
   */
  set(bytes: number, isForced = false): boolean {
    const counted = bytes > FREE_BYTES ? bytes - FREE_BYTES : 0;
    if (counted === this.#counted) return true;
    if (!this.#budget.change(counted - this.#counted, isForced)) return false;
    this.#counted = counted;
    return true;
  }
}

import { DEFAULT_LIMITS } from "./limits.ts";

/** What each holder may hold that is not counted: small messages pass whatever the large ones do. */
export const FREE_BYTES = 64 * 1024;

/** Bytes that a number of holders may hold together. */
export class ByteBudget {
  limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** For holdings: so many more, or fewer. False, and nothing is changed, where there is no room. */
  change(bytes: number, isForced: boolean): boolean {
    if (bytes > 0 && !isForced && this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }
}

/**
 * What all unfinished bodies and buffered messages of this process may take together. Each has a
 * limit of its own too, but a stranger may begin any number of them.
 */
export const BUFFERS = new ByteBudget(DEFAULT_LIMITS.maxBuffered);

/** What one connection, body or queue holds of a budget. */
export class Holding {
  readonly #budget: ByteBudget;
  #counted = 0;

  constructor(budget: ByteBudget = BUFFERS) {
    this.#budget = budget;
  }

  /**
   * Holds so many bytes from now on. False where there is no room for more: then all stays as it was.
   * What cannot be refused, such as the output of our own programs, is forced.
   */
  set(bytes: number, isForced = false): boolean {
    const counted = bytes > FREE_BYTES ? bytes - FREE_BYTES : 0;
    if (counted === this.#counted) return true;
    if (!this.#budget.change(counted - this.#counted, isForced)) return false;
    this.#counted = counted;
    return true;
  }
}

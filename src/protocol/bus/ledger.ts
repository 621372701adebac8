import { hasBrand } from "../../base/brand.ts";
import { TrunklineError } from "../../base/errors.ts";

export interface LedgerLimits {
  /** Exchanges that run at once. */
  readonly exchanges: number;
  /** Bytes of their requests, and of answers that were not taken yet. */
  readonly bytes: number;
}

/**
 * What one guest has under way, on all of its connections. What is too much is refused: whoever
 * asks for it waits for nothing, and holds nobody else up.
 */
export class Ledger {
  readonly #limits: LedgerLimits;
  #exchanges = 0;
  #bytes = 0;

  constructor(limits: LedgerLimits) {
    this.#limits = limits;
  }

  get exchanges(): number {
    return this.#exchanges;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether nothing is under way. */
  get isIdle(): boolean {
    return this.#exchanges === 0 && this.#bytes === 0;
  }

  /** Begins an exchange. Throws "limit" when there are too many; then none has begun. */
  begin(): void {
    const { exchanges } = this.#limits;
    if (this.#exchanges >= exchanges) {
      throw new OverLimit(`you have ${exchanges} requests running, the most at once`);
    }
    this.#exchanges++;
  }

  end(): void {
    this.#exchanges--;
  }

  /** Takes so many bytes. Throws "limit" when that is too much; then none were taken. */
  take(bytes: number): void {
    const limit = this.#limits.bytes;
    if (this.#bytes + bytes > limit) {
      throw new OverLimit(`your requests and answers have over ${limit} bytes, the most at once`);
    }
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** A guest has too much under way. */
export class OverLimit extends TrunklineError {
  static readonly #brand = Symbol.for("trunkline.OverLimit");

  constructor(why: string) {
    super("limit", `Cannot take the request: ${why}. Wait for some to end.`);
    Object.defineProperty(this, OverLimit.#brand, {});
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasBrand(value, OverLimit.#brand);
  }
}

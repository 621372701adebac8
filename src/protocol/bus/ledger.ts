import { TrunklineError } from "../../base/errors.ts";

export interface LedgerLimits {
  /** Requests that run at once; as many more may have begun to come. */
  readonly exchanges: number;
  /** Bytes of their requests, and of answers that were not taken yet. */
  readonly bytes: number;
}

/** An exchange whose request is still to come. */
export interface Begun {
  giveUp(): void;
}

/**
 * What one guest has under way, on all of its connections. What is too much is refused: whoever
 * asks for it waits for nothing, and holds nobody else up.
 */
export class Ledger {
  readonly #limits: LedgerLimits;
  /** Those of which the request is not there yet, the oldest first. */
  readonly #begun = new Set<Begun>();
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
    return this.#begun.size === 0 && this.#exchanges === 0 && this.#bytes === 0;
  }

  /** A request begins to come. When there are too many, the one that has taken longest is given up. */
  begin(exchange: Begun): void {
    this.#begun.add(exchange);
    if (this.#begun.size <= this.#limits.exchanges) return;
    const [oldest] = this.#begun;
    if (oldest === undefined) return;
    this.#begun.delete(oldest);
    oldest.giveUp();
  }

  /** It will come no more. */
  end(exchange: Begun): void {
    this.#begun.delete(exchange);
  }

  /** A request is there, and runs. Throws "limit" when too many do; then it does not. */
  run(exchange: Begun): void {
    this.#begun.delete(exchange);
    const { exchanges } = this.#limits;
    if (this.#exchanges >= exchanges) {
      throw new OverLimit(`you have ${exchanges} requests running, the most at once`);
    }
    this.#exchanges++;
  }

  done(): void {
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
  constructor(why: string) {
    super("limit", `Cannot take the request: ${why}. Wait for some to end.`);
  }
}

import { TrunklineError } from "../../base/errors.ts";

export interface LedgerLimits {
  /** Requests that run at once; as many more may have arrived in part. */
  readonly exchanges: number;
  /** Bytes of requests that run, and of answers that are not sent yet. */
  readonly bytes: number;
}

/** An exchange whose request has not arrived whole. */
export interface Begun {
  giveUp(): void;
}

/**
 * Counts the requests and bytes of one guest, on all of its connections. Whatever exceeds the limits is
 * refused at once, so that it delays nobody else.
 */
export class Ledger {
  readonly #limits: LedgerLimits;
  /** Exchanges whose request has not arrived whole, the oldest first. */
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

  /** Whether there are no requests and no bytes. */
  get isIdle(): boolean {
    return this.#begun.size === 0 && this.#exchanges === 0 && this.#bytes === 0;
  }

  /** A request begins to arrive. If there are too many of these, the oldest is reset. */
  begin(exchange: Begun): void {
    this.#begun.add(exchange);
    if (this.#begun.size <= this.#limits.exchanges) return;
    const [oldest] = this.#begun;
    if (oldest === undefined) return;
    this.#begun.delete(oldest);
    oldest.giveUp();
  }

  /** The request will not arrive. */
  end(exchange: Begun): void {
    this.#begun.delete(exchange);
  }

  /** A request has arrived and runs. Throws "limit" if too many run. */
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

  /** Counts bytes. Throws "limit", and counts none, if they are too many. */
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

/** A guest has reached one of its limits. */
export class OverLimit extends TrunklineError {
  constructor(why: string) {
    super("limit", `Cannot take the request: ${why}. Wait for some to end.`);
  }
}

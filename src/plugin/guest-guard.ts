import { Ledger, type LedgerLimits } from "../protocol/bus/ledger.ts";
import type { Guard } from "../protocol/bus/serve.ts";
import type { Connection } from "../wire/quic/connection.ts";
import { FairTurns } from "./fair-turns.ts";

/** What one guest may have under way at once. */
export const GUEST_LIMITS: LedgerLimits = { exchanges: 2_048, bytes: 128 * 1024 * 1024 };

/**
 * Keeps what a guest does its own affair: each has a bounded number of requests and bytes under way,
 * on all of its connections together, and a share of each turn of the event loop.
 */
export class GuestGuard implements Guard {
  readonly #nameOf: (connection: Connection) => string;
  readonly #limits: LedgerLimits;
  readonly #ledgers = new Map<string, Ledger>();
  readonly #turns = new FairTurns();

  constructor(nameOf: (connection: Connection) => string, limits: LedgerLimits = GUEST_LIMITS) {
    this.#nameOf = nameOf;
    this.#limits = limits;
  }

  ledgerOf(connection: Connection): Ledger {
    const name = this.#nameOf(connection);
    return this.#ledgers.getOrInsertComputed(name, () => new Ledger(this.#limits));
  }

  begin(connection: Connection, work: () => void): void {
    this.#turns.begin(this.#nameOf(connection), work);
  }
}

import { Ledger, type LedgerLimits } from "../protocol/bus/ledger.ts";
import type { Guard } from "../protocol/bus/serve.ts";
import type { Connection } from "../wire/quic/connection.ts";
import type { Guest } from "./guests.ts";
import { LoopBudget } from "../base/limit/loop-budget.ts";
import { Throttle } from "../base/limit/rate-limiter.ts";
import { background } from "../base/background.ts";

/** What one plugin, or one connection of anybody else, may have under way at once. */
export const GUEST_LIMITS: LedgerLimits = { exchanges: 2_048, bytes: 128 * 1024 * 1024 };

/**
 * Keeps one guest from slowing down the others: each has a limit of requests and bytes under way, and
 * a share of each turn of the event loop. All connections of a plugin share one limit; a bridge has
 * one for each connection, since many bridges have the same name.
 */
export class GuestGuard implements Guard {
  readonly #guestOf: (connection: Connection) => Pick<Guest, "name" | "isPlugin">;
  readonly #limits: LedgerLimits;
  readonly #ofPlugins = new Map<string, Ledger>();
  readonly #ofOthers = new WeakMap<Connection, Ledger>();
  readonly #budgets = new WeakMap<Ledger, LoopBudget>();

  constructor(
    guestOf: (connection: Connection) => Pick<Guest, "name" | "isPlugin">,
    limits: LedgerLimits = GUEST_LIMITS,
  ) {
    this.#guestOf = guestOf;
    this.#limits = limits;
  }

  readonly #make = (): Ledger => new Ledger(this.#limits);

  ledgerOf(connection: Connection): Ledger {
    const { name, isPlugin } = this.#guestOf(connection);
    if (isPlugin) return this.#ofPlugins.getOrInsertComputed(name, this.#make);
    return this.#ofOthers.getOrInsertComputed(connection, this.#make);
  }

  begin(ledger: Ledger, work: () => void): void {
    const budget = this.#budgets.getOrInsertComputed(ledger, () => new LoopBudget(2, 32));
    background(budget.run(work), "Answering on the bus");
  }
}

type Report = (event: string, fields: Record<string, unknown>) => void;

/** Reports of one kind that are passed on in a stretch of time. */
const RATE = { limit: 20, windowMs: 10_000 };

/**
 * Limits how often each guest's faults are logged, so that one guest cannot fill the log. The next
 * report says how many were left out.
 */
export function boundedReport(report: Report, now?: () => number): Report {
  const throttle = new Throttle(RATE, now);
  return (event, fields) => {
    // Each guest has its own limit.
    const who = fields.peer ?? fields.owner;
    const leftOut = throttle.take(typeof who === "string" ? `${event} ${who}` : event);
    if (leftOut !== undefined) report(event, leftOut === 0 ? fields : { ...fields, leftOut });
  };
}

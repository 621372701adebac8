import { mayUseAll, type Principal } from "../../../base/principal.ts";
import type { LiveRows, RowEvent } from "./live-rows.ts";

/** Something that is polled while somebody watches. */
export interface LiveSource {
  /** Milliseconds between two looks. */
  readonly every: number;
  /** Notes the rows that have changed. */
  look(rows: LiveRows): Promise<void>;
  /** Forgets what was seen: the next look begins anew, and reports no change. */
  reset(): void;
}

export interface PolledRowsOptions<T extends object> {
  readonly event: RowEvent;
  readonly every: number;
  /** The rows as they are. */
  readonly read: () => Promise<readonly T[]>;
  readonly idOf: (row: T) => string;
  /** Only those who may use everything see the rows, if left out. */
  readonly isFor?: (principal: Principal, row: T) => boolean;
}

/** Rows that are all read at each look; a change is found by comparing their JSON. */
export class PolledRows<T extends object> implements LiveSource {
  readonly every: number;
  readonly #options: PolledRowsOptions<T>;
  #known: Map<string, { readonly text: string; readonly row: T }> | undefined;

  constructor(options: PolledRowsOptions<T>) {
    this.every = options.every;
    this.#options = options;
  }

  async look(rows: LiveRows): Promise<void> {
    const { event, read, idOf, isFor = mayUseAll } = this.#options;
    const known = this.#known;
    const found = new Map<string, { text: string; row: T }>();
    for (const row of await read()) {
      const id = idOf(row);
      const text = JSON.stringify(row);
      found.set(id, { text, row });
      if (known === undefined || known.get(id)?.text === text) continue;
      rows.set(event, id, row, (principal) => isFor(principal, row));
    }
    this.#known = found;
    for (const [id, { row }] of known ?? []) {
      if (!found.has(id)) rows.set(event, id, null, (principal) => isFor(principal, row));
    }
  }

  reset(): void {
    this.#known = undefined;
  }
}

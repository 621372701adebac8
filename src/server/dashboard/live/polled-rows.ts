import type { Principal } from "../../../base/principal.ts";
import type { LiveRows, RowEvent } from "./live-rows.ts";

/** Something that is looked at while somebody watches. */
export interface LiveSource {
  /** Milliseconds between two looks. */
  readonly every: number;
  /** Notes what has changed. */
  look(rows: LiveRows): Promise<void>;
  /** Forgets what was seen: the next look finds what changes from then on. */
  reset(): void;
}

export interface PolledRowsOptions {
  readonly event: RowEvent;
  readonly every: number;
  /** The rows as they are, by id. */
  readonly read: () => Promise<ReadonlyMap<string, object>>;
  readonly isFor: (principal: Principal, row: object) => boolean;
}

/** Rows of which all are read at each look; changes are told by comparing their texts. */
export class PolledRows implements LiveSource {
  readonly every: number;
  readonly #options: PolledRowsOptions;
  #known: Map<string, { readonly text: string; readonly row: object }> | undefined;

  constructor(options: PolledRowsOptions) {
    this.every = options.every;
    this.#options = options;
  }

  async look(rows: LiveRows): Promise<void> {
    const { event, read, isFor } = this.#options;
    const known = this.#known;
    const found = new Map<string, { text: string; row: object }>();
    for (const [id, row] of await read()) {
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

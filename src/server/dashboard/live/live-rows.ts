import type { Principal } from "../../../base/principal.ts";
import type { LiveEvent } from "../api.ts";

/** The events that tell of a row. */
export type RowEvent = Extract<LiveEvent, { data: { id: string } }>["event"];

/** The last change of a row. */
export interface LiveRow {
  /** Number of the change among all changes. */
  readonly n: number;
  readonly event: RowEvent;
  readonly id: string;
  /** Null where the row is gone. */
  readonly row: object | null;
  /** Whether a principal may see it. */
  readonly isFor: (principal: Principal) => boolean;
}

/** Rows of which the last change is kept. */
const MOST = 2_000;

/**
 * The last change of each row that changed lately, in order. A reader that comes back asks for those
 * after the last number that it has seen. Of a row that changed several times, only the last change is
 * kept, so a reader may be as slow as it likes: what it has missed is never more than the rows there are.
 */
export class LiveRows {
  /** Identifies this process: numbers of an earlier one mean something else. */
  readonly epoch = crypto.randomUUID().slice(0, 8);
  readonly #rows = new Map<string, LiveRow>();
  readonly #most: number;
  readonly #listeners = new Set<() => void>();
  /** Number of the last change. */
  last = 0;
  /** Numbers up to this one may be of changes that are no longer known. */
  #floor = 0;

  constructor(most = MOST) {
    this.#most = most;
  }

  /** Notes a change, and tells all readers. The same row as before is no change. */
  set(
    event: RowEvent,
    id: string,
    row: object | null,
    isFor: (principal: Principal) => boolean,
  ): void {
    const key = `${event} ${id}`;
    this.#rows.delete(key);
    this.#rows.set(key, { n: ++this.last, event, id, row, isFor });
    this.#forgetOldest();
    for (const listener of this.#listeners) listener();
  }

  /** The changes after a number, oldest first; undefined where some of them are no longer known. */
  after(n: number): readonly LiveRow[] | undefined {
    if (n < this.#floor || n > this.last) return undefined;
    const found: LiveRow[] = [];
    for (const row of this.#rows.values()) if (row.n > n) found.push(row);
    return found;
  }

  /** From now on changes are not recorded, so no reader can continue from a number so far. */
  pause(): void {
    this.#rows.clear();
    this.#floor = ++this.last;
  }

  listen(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  #forgetOldest(): void {
    const [oldest] = this.#rows;
    if (this.#rows.size <= this.#most || oldest === undefined) return;
    this.#rows.delete(oldest[0]);
    this.#floor = oldest[1].n;
  }
}

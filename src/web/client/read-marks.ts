import { attempt } from "../../base/attempt.ts";
import { type Signal, signal } from "@preact/signals";

const KEY = "trunkline.read";
/** Marks of the sessions that were read last; those of older ones are dropped. */
const MOST = 2000;

/** How far each session was read in this browser, by the number of its last event. */
export class ReadMarks {
  readonly #storage: Pick<Storage, "getItem" | "setItem"> | undefined;
  /** Another map after each change. */
  readonly #marks: Signal<ReadonlyMap<string, number>>;
  /** The first visit: sessions that changed before it count as read. */
  readonly #since: number;

  constructor(storage: Pick<Storage, "getItem" | "setItem"> | undefined, now = Date.now()) {
    this.#storage = storage;
    const kept = storedMarks(storage);
    this.#since = kept?.since ?? now;
    this.#marks = signal(new Map(kept?.marks));
    if (kept === undefined) this.#keep();
  }

  isUnread({ id, last, updated }: { id: string; last: number; updated: number }): boolean {
    const mark = this.#marks.value.get(id);
    return mark === undefined ? updated > this.#since : last > mark;
  }

  read(id: string, last: number): void {
    const marks = new Map(this.#marks.peek());
    if ((marks.get(id) ?? -1) >= last) return;
    // The order is that of reading, so that the oldest marks can be dropped.
    marks.delete(id);
    marks.set(id, last);
    for (const oldest of marks.keys()) {
      if (marks.size <= MOST) break;
      marks.delete(oldest);
    }
    this.#marks.value = marks;
    this.#keep();
  }

  #keep(): void {
    try {
      const kept: StoredMarks = { since: this.#since, marks: [...this.#marks.peek()] };
      this.#storage?.setItem(KEY, JSON.stringify(kept));
    } catch {
      // A full or forbidden storage costs only the marks of the next visit.
    }
  }
}

interface StoredMarks {
  readonly since: number;
  readonly marks: [string, number][];
}

function storedMarks(storage: Pick<Storage, "getItem"> | undefined): StoredMarks | undefined {
  // Nothing may be stored, or what is not valid.
  return attempt(() => {
    const { since, marks } = JSON.parse(storage?.getItem(KEY) ?? "null") as Partial<StoredMarks>;
    if (typeof since !== "number" || !Array.isArray(marks)) return undefined;
    const isMark = (pair: unknown): boolean =>
      Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "number";
    return { since, marks: marks.filter(isMark) };
  });
}

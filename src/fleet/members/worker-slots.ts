/** Milliseconds for which a slot is kept for a gateway that was promised it. */
const KEPT = 15_000;

export interface WorkerSlotsOptions {
  readonly slots: number;
  /** Called when the number of taken slots has changed. */
  readonly changed?: (() => void) | undefined;
  /** Milliseconds for which a slot is kept for a gateway that was promised it. */
  readonly kept?: number | undefined;
}

/**
 * The slots of a worker: how many sessions it has open, and for how many more a gateway was promised a
 * place. A promise that no session follows lapses.
 */
export class WorkerSlots implements Disposable {
  readonly slots: number;
  readonly #changed: () => void;
  readonly #kept: number;
  readonly #promised = new Set<NodeJS.Timeout>();
  #open = 0;

  constructor({ slots, changed = () => {}, kept = KEPT }: WorkerSlotsOptions) {
    this.slots = slots;
    this.#changed = changed;
    this.#kept = kept;
  }

  get used(): number {
    return this.#open + this.#promised.size;
  }

  get free(): number {
    return Math.max(0, this.slots - this.used);
  }

  /** Sessions that are open. */
  get open(): number {
    return this.#open;
  }

  /** Promises a slot; returns how to take that back. Undefined if none is free. */
  promise(): (() => void) | undefined {
    if (this.free === 0) return undefined;
    const lapse = (): void => {
      clearTimeout(timer);
      if (this.#promised.delete(timer)) this.#changed();
    };
    const timer = setTimeout(lapse, this.#kept);
    timer.unref();
    this.#promised.add(timer);
    this.#changed();
    return lapse;
  }

  /** A session was opened. It takes the place that was promised first, or one more than there are slots. */
  opened(): void {
    const [first] = this.#promised;
    if (first !== undefined) {
      clearTimeout(first);
      this.#promised.delete(first);
    }
    this.#open++;
    this.#changed();
  }

  /** A session was closed. */
  closed(): void {
    this.#open--;
    this.#changed();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#promised) clearTimeout(timer);
    this.#promised.clear();
  }
}

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
 * The slots of a worker: which sessions it has open, and for how many more a gateway was promised a place.
 * A promise that no session follows lapses. Several gateways, or one that tries again, may ask for the
 * same session: it needs one place.
 */
export class WorkerSlots implements Disposable {
  readonly slots: number;
  readonly #changed: () => void;
  readonly #kept: number;
  /** By session; a new session has no id yet when its place is promised. */
  readonly #promised = new Map<string | symbol, NodeJS.Timeout>();
  readonly #sessions = new Set<string | symbol>();

  constructor({ slots, changed = () => {}, kept = KEPT }: WorkerSlotsOptions) {
    this.slots = slots;
    this.#changed = changed;
    this.#kept = kept;
  }

  get used(): number {
    return this.#sessions.size + this.#promised.size;
  }

  get free(): number {
    return Math.max(0, this.slots - this.used);
  }

  /** Sessions that are open. */
  get open(): number {
    return this.#sessions.size;
  }

  /** Whether a session has its place already: it is open, or was promised one. */
  has(session: string): boolean {
    return this.#sessions.has(session) || this.#promised.has(session);
  }

  /** Promises a slot; returns how to take that back. Undefined if none is free. */
  promise(session: string | symbol = Symbol("new")): (() => void) | undefined {
    if (this.#sessions.has(session)) return () => {};
    const lapse = (): void => this.#forget(session);
    const known = this.#promised.get(session);
    if (known !== undefined) {
      known.refresh();
      return lapse;
    }
    if (this.free === 0) return undefined;
    this.#promised.set(session, setTimeout(lapse, this.#kept).unref());
    this.#changed();
    return lapse;
  }

  /** A session for which a place was promised cannot be opened here. */
  failed(session: string): void {
    this.#forget(session);
  }

  /**
   * A session was opened. It takes its own place, or the one that was promised first for a new session, or
   * one more than there are slots.
   */
  opened(session: string | symbol = Symbol("new")): void {
    const isNew = (key: string | symbol): boolean => typeof key === "symbol";
    const key = this.#promised.has(session) ? session : this.#promised.keys().find(isNew);
    clearTimeout(this.#promised.get(key ?? session));
    this.#promised.delete(key ?? session);
    this.#sessions.add(session);
    this.#changed();
  }

  /** A session was closed. */
  closed(session?: string): void {
    const [first] = this.#sessions;
    if (this.#sessions.delete(session ?? first ?? "")) this.#changed();
  }

  #forget(session: string | symbol): void {
    clearTimeout(this.#promised.get(session));
    if (this.#promised.delete(session)) this.#changed();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#promised.values()) clearTimeout(timer);
    this.#promised.clear();
  }
}

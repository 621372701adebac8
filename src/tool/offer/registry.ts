/**
 * Entries by name, in the order they were added, with a notification of changes. The list is cached
 * between changes, since it is read far more often than changed.
 *
 * Entries of a person are apart from those of all: whoever does not name that person finds none of them.
 */
export class Registry<T> {
  readonly #kind: string;
  /** By person; those of all under `undefined`. */
  readonly #entries = new Map<string | undefined, Map<string, T>>();
  readonly #changes = new Announcement();
  readonly #lists = new Map<string | undefined, readonly T[]>();

  /** `kind` is for errors: "tool". */
  constructor(kind: string) {
    this.#kind = kind;
  }

  /** An entry of all, or else of the person. */
  get(name: string, person?: string): T | undefined {
    return this.#entries.get(undefined)?.get(name) ?? this.#entries.get(person)?.get(name);
  }

  /** The entries of all, with those of the person. */
  list(person?: string): readonly T[] {
    const own = this.#entries.has(person) ? person : undefined;
    return this.#lists.getOrInsertComputed(own, () => {
      const all = new Map(this.#entries.get(undefined));
      const more = own === undefined ? [] : (this.#entries.get(own) ?? []);
      for (const [name, entry] of more) if (!all.has(name)) all.set(name, entry);
      return [...all.values()];
    });
  }

  /** Adds under a name that is free. Returns how to take it out again. */
  add(name: string, entry: T, person?: string): () => void {
    const entries = this.#entries.getOrInsertComputed(person, () => new Map<string, T>());
    if (entries.has(name)) throw new Error(`There is a ${this.#kind} '${name}' already`);
    entries.set(name, entry);
    this.changed(person);
    return () => {
      if (entries.get(name) !== entry) return;
      entries.delete(name);
      if (entries.size === 0 && this.#entries.get(person) === entries) this.#entries.delete(person);
      this.changed(person);
    };
  }

  /**
   * Calls back after changes: once for all that were made in one turn. `person` hears of no other's.
   * Returns how to stop it.
   */
  onChange(listener: () => void, person?: string): () => void {
    return this.#changes.on(listener, person);
  }

  /** Announces a change: also for whoever changes what clients see of the entries. */
  changed(person?: string): void {
    if (person === undefined) this.#lists.clear();
    else this.#lists.delete(person);
    this.#changes.make(person);
  }
}

/**
 * Tells listeners that something has changed: once for all changes of one turn of the event loop. A
 * listener that throws affects neither the other listeners nor the code that made the change.
 */
export class Announcement {
  readonly #listeners = new Set<{
    readonly call: () => void;
    readonly person: string | undefined;
  }>();
  readonly #failed: (error: unknown) => void;
  /** Whom the changes of this turn are for; undefined stands for all. */
  #due = new Set<string | undefined>();

  constructor(failed: (error: unknown) => void = () => {}) {
    this.#failed = failed;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** The change is for a person's listeners, or for all. */
  make(person?: string): void {
    const isDue = this.#due.size > 0;
    this.#due.add(person);
    if (isDue) return;
    queueMicrotask(() => {
      const due = this.#due;
      this.#due = new Set();
      // A copy: a listener that is added meanwhile hears of the next change only.
      for (const listener of [...this.#listeners]) {
        const isMeant = [undefined, listener.person].some((whom) => due.has(whom));
        if (!this.#listeners.has(listener) || !(isMeant || listener.person === undefined)) continue;
        try {
          listener.call();
        } catch (error) {
          this.#failed(error);
        }
      }
    });
  }

  /** Listens for what is for all, and for one person or everybody. Returns how to stop listening. */
  on(call: () => void, person?: string): () => void {
    const listener = { call, person };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/**
 * Entries by name, in the order they were added, with a notification of changes. The list is cached between
 * changes, because it is read far more often than changed.
 *
 * A person's entries are separate: they are found only by callers that name that person.
 */
export class Registry<T> {
  readonly #kind: string;
  /** By person; entries for everybody under `undefined`. */
  readonly #entries = new Map<string | undefined, Map<string, T>>();
  readonly #changes = new Announcement();
  readonly #lists = new Map<string | undefined, readonly T[]>();

  /** `kind` is for errors: "tool". */
  constructor(kind: string) {
    this.#kind = kind;
  }

  /** An entry for everybody, or else one of the person's. */
  get(name: string, person?: string): T | undefined {
    return this.#entries.get(undefined)?.get(name) ?? this.#entries.get(person)?.get(name);
  }

  /** The entries for everybody, and those of the person. */
  list(person?: string): readonly T[] {
    const own = this.#entries.has(person) ? person : undefined;
    return this.#lists.getOrInsertComputed(own, () => {
      const all = new Map(this.#entries.get(undefined));
      const more = own === undefined ? [] : (this.#entries.get(own) ?? []);
      for (const [name, entry] of more) if (!all.has(name)) all.set(name, entry);
      return [...all.values()];
    });
  }

  /** Adds an entry under a name that is free. Returns a function that removes it. */
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
   * Calls back after changes, once for all changes of one turn of the event loop. A listener of a `person`
   * does not hear of other people's. Returns a function that stops it.
   */
  onChange(listener: () => void, person?: string): () => void {
    return this.#changes.on(listener, person);
  }

  /** Announces a change. Also called when the view of the entries changes. */
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
  /** The people whom the changes of this turn concern; undefined stands for everybody. */
  #due = new Set<string | undefined>();

  constructor(failed: (error: unknown) => void = () => {}) {
    this.#failed = failed;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Announces a change to one person's listeners, or to all. */
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

  /**
   * Listens for changes that concern everybody or this person; without a person, for all changes. Returns a
   * function that stops it.
   */
  on(call: () => void, person?: string): () => void {
    const listener = { call, person };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

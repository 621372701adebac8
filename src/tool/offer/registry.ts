/**
 * Entries by name, in the order they were added, with a notification of changes. The list is cached
 * between changes, since it is read far more often than changed.
 */
export class Registry<T> {
  readonly #kind: string;
  readonly #entries = new Map<string, T>();
  readonly #changes = new Announcement();
  #list: readonly T[] | undefined;

  /** `kind` is for errors: "tool". */
  constructor(kind: string) {
    this.#kind = kind;
  }

  get(name: string): T | undefined {
    return this.#entries.get(name);
  }

  list(): readonly T[] {
    this.#list ??= [...this.#entries.values()];
    return this.#list;
  }

  /** Adds under a name that is free. Returns how to take it out again. */
  add(name: string, entry: T): () => void {
    if (this.#entries.has(name)) throw new Error(`There is a ${this.#kind} '${name}' already`);
    this.#entries.set(name, entry);
    this.changed();
    return () => {
      if (this.#entries.get(name) !== entry) return;
      this.#entries.delete(name);
      this.changed();
    };
  }

  /** Calls back after changes: once for all that were made in one turn. Returns how to stop it. */
  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  /** Announces a change: also for whoever changes what clients see of the entries. */
  changed(): void {
    this.#list = undefined;
    this.#changes.make();
  }
}

/**
 * Tells listeners that something has changed: once for all changes of one turn of the event loop. A
 * listener that throws affects neither the other listeners nor the code that made the change.
 */
export class Announcement {
  readonly #listeners = new Set<{ readonly call: () => void }>();
  readonly #failed: (error: unknown) => void;
  #isDue = false;

  constructor(failed: (error: unknown) => void = () => {}) {
    this.#failed = failed;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  make(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      // A copy: a listener that is added meanwhile hears of the next change only.
      for (const listener of [...this.#listeners]) {
        if (!this.#listeners.has(listener)) continue;
        try {
          listener.call();
        } catch (error) {
          this.#failed(error);
        }
      }
    });
  }

  /** Returns how to stop listening. */
  on(call: () => void): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

import { Announcement } from "./announcement.ts";

/**
 * Things by name, in the order they were added, and a word to whoever wants to know when that
 * changes. The list is made once for each change, since it is asked for far more often.
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
    this.#changed();
    return () => {
      if (this.#entries.get(name) !== entry) return;
      this.#entries.delete(name);
      this.#changed();
    };
  }

  /** Calls back after changes: once for all that were made in one turn. Returns how to stop it. */
  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  #changed(): void {
    this.#list = undefined;
    this.#changes.make();
  }
}

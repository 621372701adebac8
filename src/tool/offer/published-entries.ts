/** One entry to publish. An entry with the same name and key is not made again. */
export interface Publication<T> {
  readonly name: string;
  readonly key: string;
  readonly make: () => T;
}

/**
 * Our entries in a registry that others add to as well. They are replaced as a whole, so that their
 * order does not depend on when each came. An entry that has not changed stays the same object, which
 * keeps what is cached by it (compiled schemas).
 */
export class PublishedEntries<T> {
  readonly #add: (name: string, entry: T) => () => void;
  #current = new Map<string, { readonly entry: T; readonly remove: () => void }>();
  #names = new Set<string>();

  constructor(add: (name: string, entry: T) => () => void) {
    this.#add = add;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  replace(publications: readonly Publication<T>[]): void {
    const before = [...this.#current.keys()];
    const keys = publications.map(({ name, key }) => `${name}\n${key}`);
    if (before.length === keys.length && keys.every((key, index) => key === before[index])) return;
    const known = this.#current;
    for (const { remove } of known.values()) remove();
    this.#current = new Map();
    this.#names = new Set(publications.map(({ name }) => name));
    for (const [index, { name, make }] of publications.entries()) {
      const key = keys[index] ?? "";
      const entry = known.get(key)?.entry ?? make();
      this.#current.set(key, { entry, remove: this.#add(name, entry) });
    }
  }
}

/** One thing to publish: its name, and what tells whether it is still the same thing. */
export interface Publication<T> {
  readonly name: string;
  readonly key: string;
  readonly make: () => T;
}

/**
 * Our part of a registry that is shared with others. It is replaced as a whole, so that the order
 * depends on what is published and not on when it came; what has not changed stays the same object.
 */
export class Published<T> {
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

const LONGEST = 128;

/**
 * Public names for what several servers offer. The first server, in the order of the configuration,
 * keeps its plain name if that is not too long; the same name of another becomes `<server>_<name>`, of letters, digits, `_`,
 * `.` and `-`, at most 128 long, and numbered if even that is taken.
 */
export class Names {
  readonly #isTaken: (name: string) => boolean;
  readonly #given = new Set<string>();
  /** The last number that a name was told apart by: many may come to the same. */
  readonly #numbers = new Map<string, number>();

  /** `isTaken` knows the names that others have given, such as those of our own tools. */
  constructor(isTaken: (name: string) => boolean) {
    this.#isTaken = isTaken;
  }

  give(server: string, name: string): string {
    const prefixed = `${server}_${name}`.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, LONGEST);
    const isPlain = name.length <= LONGEST && this.#isFree(name);
    const free = isPlain ? name : this.#firstFree(prefixed);
    this.#given.add(free);
    return free;
  }

  #firstFree(name: string): string {
    if (this.#isFree(name)) return name;
    for (let number = (this.#numbers.get(name) ?? 1) + 1; ; number++) {
      const suffix = `_${number}`;
      const numbered = name.slice(0, LONGEST - suffix.length) + suffix;
      this.#numbers.set(name, number);
      if (this.#isFree(numbered)) return numbered;
    }
  }

  #isFree(name: string): boolean {
    return !this.#given.has(name) && !this.#isTaken(name);
  }
}

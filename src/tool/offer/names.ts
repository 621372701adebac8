const LONGEST = 128;

/**
 * Unique names for what several servers offer (MCP 2026-07-28, server/tools § Tool Names). The first
 * server, in the order of the configuration, keeps the plain name. The same name of another server
 * becomes `<server>_<name>`: letters, digits, `_`, `.` and `-`, at most 128 characters, and numbered if
 * that is taken as well.
 */
export class Names {
  readonly #isTaken: (name: string) => boolean;
  readonly #given = new Set<string>();
  /** The last number that was appended to a name: many names may be cut to the same text. */
  readonly #numbers = new Map<string, number>();

  /** `isTaken` says which names are taken elsewhere, such as by our own tools. */
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

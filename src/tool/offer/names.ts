const LONGEST = 128;
/** The longest suffix that a number adds to a name. */
const LONGEST_END = 8;

/** Makes names unique, by numbers. It is fast even for a million equal names. */
export class FreeNames {
  readonly #longest: number;
  readonly #isTaken: (name: string) => boolean;
  readonly #given = new Set<string>();
  /** By the part of a name that a number never replaces: the numbers up to this one are taken. */
  readonly #counts = new Map<string, number>();

  /** `isTaken` says which names are taken elsewhere. */
  constructor(longest = Infinity, isTaken: (name: string) => boolean = () => false) {
    this.#longest = longest;
    this.#isTaken = isTaken;
  }

  isFree(name: string): boolean {
    return !this.#given.has(name) && !this.#isTaken(name);
  }

  /** The name, cut to its length, or with a number at its end if it is taken. */
  free(name: string): string {
    const short = name.slice(0, this.#longest);
    if (this.isFree(short)) return short;
    const beginning = name.slice(0, this.#longest - LONGEST_END);
    for (let count = this.#counts.get(beginning) ?? 2; ; count++) {
      const end = `_${count}`;
      const unique = name.slice(0, this.#longest - end.length) + end;
      if (!this.isFree(unique)) continue;
      this.#counts.set(beginning, count);
      return unique;
    }
  }

  /** Takes the name, or a free one like it. */
  take(name: string): string {
    const free = this.free(name);
    this.#given.add(free);
    return free;
  }
}

/**
 * Unique names for what several servers offer (MCP 2026-07-28, server/tools § Tool Names). The first
 * server, in the order of the configuration, keeps the plain name. The same name of another server
 * becomes `<server>_<name>`: letters, digits, `_`, `.` and `-`, at most 128 characters, and numbered if
 * that is taken as well.
 */
export class Names {
  readonly #names: FreeNames;

  /** `isTaken` says which names are taken elsewhere, such as by our own tools. */
  constructor(isTaken: (name: string) => boolean) {
    this.#names = new FreeNames(LONGEST, isTaken);
  }

  give(server: string, name: string): string {
    const isPlain = name.length <= LONGEST && this.#names.isFree(name);
    const prefixed = `${server}_${name}`.replaceAll(/[^A-Za-z0-9_.-]/g, "_");
    return this.#names.take(isPlain ? name : prefixed);
  }
}

/**
 * The names that the services of models take for arguments. One other name, such as `filter[id]`, and some
 * refuse all tools of a client together.
 */
const TAKEN_BY_MODELS = /^[A-Za-z0-9_.-]{1,64}$/;
const LONGEST = 64;

/** The arguments of one operation, each with a name of its own. */
export class ArgumentNames {
  /** Names that parameters have as they are: no other gets them. */
  readonly #own: ReadonlySet<string>;
  readonly #given = new Set(["__proto__"]);

  /** `names` are those of all parameters. */
  constructor(names: readonly unknown[]) {
    const own = names.filter((name): name is string => typeof name === "string");
    this.#own = new Set(own.filter((name) => TAKEN_BY_MODELS.test(name)));
  }

  /** The name of a parameter, as it is where that is possible, or with its place in front. */
  give(name: string, place: string): string {
    if (this.#own.has(name) && !this.#given.has(name)) return this.#take(name);
    const plain = plainName(name);
    const isFree = plain !== name && plain !== "" && this.#isFree(plain);
    return isFree ? this.#take(plain) : this.giveFree(plain === "" ? place : `${place}_${plain}`);
  }

  /** The name if it is free, or with a number. */
  giveFree(name: string): string {
    let free = name.slice(0, LONGEST);
    for (let count = 2; !this.#isFree(free); count++) {
      const end = `_${count}`;
      free = name.slice(0, LONGEST - end.length) + end;
    }
    return this.#take(free);
  }

  #isFree(name: string): boolean {
    return !this.#given.has(name) && !this.#own.has(name);
  }

  #take(name: string): string {
    this.#given.add(name);
    return name;
  }
}

function plainName(name: string): string {
  const parts = name.split(/[^A-Za-z0-9_.-]+/).filter((part) => part !== "");
  return parts.join("_").slice(0, LONGEST);
}

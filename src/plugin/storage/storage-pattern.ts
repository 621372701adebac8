import { TrunklineError } from "../../base/errors.ts";

type Step = "star" | ((character: string) => boolean);

const LONGEST = 1_000;

/**
 * Whether a file name is like a pattern, in which `*` is any text, `?` one character, `[a-z]` one of
 * these, `[^a-z]` one of the others, and `\` takes the meaning from what follows. Never goes back
 * further than the last star: no pattern takes long, whoever wrote it.
 */
export function storagePattern(pattern: string): (name: string) => boolean {
  const steps = new PatternReader(pattern).read();
  return (name) => matches(steps, Array.from(name));
}

function matches(steps: readonly Step[], name: readonly string[]): boolean {
  let at = 0;
  let step = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const wanted = steps[step];
    if (wanted === "star") {
      star = step++;
      starAt = at;
    } else if (wanted?.(name[at] as string) === true) {
      step++;
      at++;
    } else if (star >= 0) {
      step = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  return steps.slice(step).every((rest) => rest === "star");
}

class PatternReader {
  readonly #pattern: string;
  readonly #characters: string[];
  #at = 0;

  constructor(pattern: string) {
    if (pattern.length > LONGEST) {
      const message = `Cannot use this pattern: it is longer than ${LONGEST} characters`;
      throw new TrunklineError("usage", message);
    }
    this.#pattern = pattern;
    this.#characters = Array.from(pattern);
  }

  read(): Step[] {
    const steps: Step[] = [];
    while (this.#at < this.#characters.length) steps.push(this.#step());
    return steps;
  }

  #step(): Step {
    const character = this.#take("");
    if (character === "*") return "star";
    if (character === "?") return () => true;
    if (character === "[") return this.#class();
    const wanted = character === "\\" ? this.#take("a character after '\\'") : character;
    return (other) => other === wanted;
  }

  #class(): Step {
    const isOthers = this.#skip("^");
    const ranges: [first: string, last: string][] = [];
    do {
      const first = this.#member();
      ranges.push([first, this.#skip("-") ? this.#member() : first]);
    } while (!this.#skip("]"));
    return (character) =>
      ranges.some(([first, last]) => isBetween(character, first, last)) !== isOthers;
  }

  #member(): string {
    const character = this.#take("']'");
    if (character === "]" || character === "-") throw this.#malformed(`'${character}' is escaped`);
    return character === "\\" ? this.#take("a character after '\\'") : character;
  }

  #skip(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(missing: string): string {
    const character = this.#characters[this.#at++];
    if (character === undefined) throw this.#malformed(`there is ${missing}`);
    return character;
  }

  #malformed(unless: string): TrunklineError {
    const message = `Cannot use the pattern '${this.#pattern}' unless ${unless}`;
    return new TrunklineError("usage", message);
  }
}

function isBetween(character: string, first: string, last: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code >= (first.codePointAt(0) ?? 0) && code <= (last.codePointAt(0) ?? 0);
}

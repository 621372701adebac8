/** What a step of an expression does. */
type Step =
  /** Reads one character that the class matches. */
  | { readonly kind: "read"; readonly fits: (character: string) => boolean; readonly to: number }
  /** Goes on at both. */
  | { readonly kind: "fork"; to: number; or: number }
  | { readonly kind: "start"; readonly to: number }
  | { readonly kind: "end"; readonly to: number }
  | { readonly kind: "boundary"; readonly isOne: boolean; readonly to: number }
  | { readonly kind: "found" };

/** Steps of the largest expression: the time for a text is at most this times its length. */
const MOST_STEPS = 2_000;
const MOST_DEPTH = 100;

/**
 * A regular expression of somebody else. JavaScript's own may take exponential time, on a text made for
 * it or even to be compiled, and nothing stops it then. This one keeps all ways to read the text at once,
 * so that it takes the time of one pass for each step of the expression (Thompson's algorithm). It only
 * says whether there is a match. References back and looking around cannot be done like that.
 */
export class LinearExpression {
  readonly #steps: readonly Step[];
  readonly #first: number;

  /** `source` is read as with the flag `u`. Throws if it cannot be matched in linear time. */
  constructor(source: string) {
    const parser = new Parser(source);
    this.#first = parser.parse();
    this.#steps = parser.steps;
  }

  test(text: string): boolean {
    const characters = Array.from(text);
    // By step, the last position at which it was reached.
    const reached = new Int32Array(this.#steps.length).fill(-1);
    let now: number[] = [];
    for (let at = 0; at <= characters.length; at++) {
      const reading: number[] = [];
      // A match may begin anywhere.
      now.push(this.#first);
      for (let top = now.pop(); top !== undefined; top = now.pop()) {
        if (reached[top] === at) continue;
        reached[top] = at;
        const step = this.#steps[top] as Step;
        if (step.kind === "found") return true;
        if (step.kind === "read") reading.push(top);
        else if (step.kind === "fork") now.push(step.to, step.or);
        else if (step.kind === "start" ? at === 0 : step.kind === "end" && at === characters.length)
          now.push(step.to);
        else if (step.kind === "boundary" && step.isOne === isBoundary(characters, at))
          now.push(step.to);
      }
      const character = characters[at];
      if (character === undefined) return false;
      now = reading.flatMap((index) => {
        const step = this.#steps[index] as Step & { kind: "read" };
        return step.fits(character) ? [step.to] : [];
      });
    }
    return false;
  }
}

const isWord = (character: string | undefined): boolean => /^\w$/.test(character ?? "");

function isBoundary(characters: readonly string[], at: number): boolean {
  return isWord(characters[at - 1]) !== isWord(characters[at]);
}

/** Builds the steps from the end: what a part leads to is known before the part is. */
type Part = (to: number) => number;

/** One character outside of a class. What follows a backslash may be longer. */
const ATOM =
  /^(?:\\(?:[pP]\{[\w=]+\}|u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[^1-9kuxcpP])|\[(?:\\.|[^\]\\])*\]|[^\\[\]{}()*+?|^$])/su;
const QUANTIFIER = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/;
const GROUP = /^\((?:\?:|\?<[A-Za-z_$][\w$]*>)?/;

class Parser {
  readonly steps: Step[] = [{ kind: "found" }];
  #rest: string;
  #depth = 0;
  #parts = 0;

  constructor(source: string) {
    this.#rest = source;
  }

  parse(): number {
    const part = this.#choice();
    if (this.#rest !== "") throw unfit(this.#rest);
    return part(0);
  }

  #choice(): Part {
    const parts = [this.#sequence()];
    while (this.#takes("|")) parts.push(this.#sequence());
    return (to) =>
      parts
        .map((part) => part(to))
        .reduceRight((or, step) => this.#add({ kind: "fork", to: step, or }));
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#rest !== "" && !/^[|)]/.test(this.#rest)) parts.push(this.#repeated());
    return (to) => parts.reduceRight((next, part) => part(next), to);
  }

  #repeated(): Part {
    const part = this.#single();
    const found = QUANTIFIER.exec(this.#rest);
    if (found === null) return part;
    this.#rest = this.#rest.slice(found[0].length);
    const [sign, least, comma, most] = found;
    if (sign.startsWith("*")) return this.#times(part, 0, Infinity);
    if (sign.startsWith("+")) return this.#times(part, 1, Infinity);
    if (sign.startsWith("?")) return this.#times(part, 0, 1);
    const end = comma === undefined ? Number(least) : most === "" ? Infinity : Number(most);
    return this.#times(part, Number(least), end);
  }

  #times(part: Part, least: number, most: number): Part {
    return (to) => {
      let next = to;
      if (most === Infinity) {
        const fork: Step = { kind: "fork", to: 0, or: to };
        next = this.#add(fork);
        fork.to = part(next);
      } else {
        for (let at = least; at < most; at++) {
          next = this.#add({ kind: "fork", to: part(next), or: to });
        }
      }
      for (let at = 0; at < least; at++) {
        next = part(next);
        // Counted, since what is repeated may be empty.
        this.#parts++;
        if (this.#parts > MOST_STEPS) throw tooLarge();
      }
      return next;
    };
  }

  #single(): Part {
    if (this.#takes("^")) return (to) => this.#add({ kind: "start", to });
    if (this.#takes("$")) return (to) => this.#add({ kind: "end", to });
    if (this.#takes("\\b")) return (to) => this.#add({ kind: "boundary", isOne: true, to });
    if (this.#takes("\\B")) return (to) => this.#add({ kind: "boundary", isOne: false, to });
    const [group] = GROUP.exec(this.#rest) ?? [];
    if (group !== undefined) return this.#group(group);
    const [atom] = ATOM.exec(this.#rest) ?? [];
    if (atom === undefined) throw unfit(this.#rest);
    this.#rest = this.#rest.slice(atom.length);
    // A class of one character is all that is left to JavaScript's own: that is quick.
    const expression = new RegExp(`^${atom}$`, "u");
    const fits = (character: string): boolean => expression.test(character);
    return (to) => this.#add({ kind: "read", fits, to });
  }

  #group(opening: string): Part {
    this.#rest = this.#rest.slice(opening.length);
    if (++this.#depth > MOST_DEPTH) throw unfit(opening);
    const part = this.#choice();
    this.#depth--;
    if (!this.#takes(")")) throw unfit(this.#rest);
    return part;
  }

  #takes(sign: string): boolean {
    if (!this.#rest.startsWith(sign)) return false;
    this.#rest = this.#rest.slice(sign.length);
    return true;
  }

  #add(step: Step): number {
    if (this.steps.length >= MOST_STEPS) throw tooLarge();
    return this.steps.push(step) - 1;
  }
}

function unfit(rest: string): SyntaxError {
  return new SyntaxError(`Cannot match '${rest.slice(0, 40)}' in linear time`);
}

function tooLarge(): SyntaxError {
  return new SyntaxError("The expression has too many steps");
}

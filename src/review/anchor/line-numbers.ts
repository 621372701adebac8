import { onceIn } from "./line-map.ts";
import { keyOf } from "./line-words.ts";

/** A text that is compared with others. */
export interface NumberedText {
  readonly lines: readonly string[];
  /** Lines that differ only in space and the kind of quotes have the same number. */
  readonly numbers: Int32Array;
  /** The index of each number that occurs once. */
  readonly once: ReadonlyMap<number, number>;
}

/** More letters make no difference. */
const MOST_LETTERS = 20;

/**
 * Numbers the lines of texts. Versions of a file have most lines in common, and many comments are
 * followed through them, so each line is looked at once.
 */
export class LineNumbers {
  readonly #byLine = new Map<string, number>();
  readonly #byKey = new Map<string, number>();
  readonly #letters: number[] = [];
  readonly #texts = new WeakMap<readonly string[], NumberedText>();

  of(lines: readonly string[]): NumberedText {
    const known = this.#texts.get(lines);
    if (known !== undefined) return known;
    const numbers = Int32Array.from(lines, (line) => this.#byLine.get(line) ?? this.#add(line));
    const text = { lines, numbers, once: onceIn(numbers) };
    this.#texts.set(lines, text);
    return text;
  }

  /** The letters and digits of a line, up to 20. */
  lettersOf(number: number): number {
    return this.#letters[number] ?? 0;
  }

  #add(line: string): number {
    const key = keyOf(line);
    let number = this.#byKey.get(key);
    if (number === undefined) {
      number = this.#byKey.size;
      this.#byKey.set(key, number);
      this.#letters.push(lettersOf(key));
    }
    this.#byLine.set(line, number);
    return number;
  }
}

/** Whether a line has enough letters or digits, unlike a brace. */
export function isTelling(line: string): boolean {
  return lettersOf(line) >= TELLING;
}

/** Letters and digits of a line that does not look like many others. */
export const TELLING = 6;

function lettersOf(line: string): number {
  let letters = 0;
  for (let at = 0; at < line.length && letters < MOST_LETTERS; at++) {
    const code = line.charCodeAt(at);
    const lower = code | 32;
    if ((lower >= 97 && lower <= 122) || (code >= 48 && code <= 57)) letters++;
    else if (code > 127 && /[\p{L}\p{N}]/u.test(line.charAt(at))) letters++;
  }
  return letters;
}

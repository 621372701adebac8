import type { FileText } from "./file-text.ts";
import { bytes, copied } from "./line-map.ts";
import { type KnownLines, lettersOf, numberLines, type NumberedText } from "./number-lines.ts";

/**
 * Numbers the lines of the versions of a file. They have most lines in common, so what is known of a
 * line is kept by its number.
 */
export class LineNumbers {
  readonly #texts = new Map<FileText, NumberedText>();
  #known: KnownLines = { keys: new Int32Array(), letters: new Uint8Array() };

  /** How many numbers there are. */
  get size(): number {
    return this.#known.letters.length;
  }

  of(text: FileText): NumberedText {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const { numbers, starts, once, keys, letters } = numberLines(text.content, this.#known);
    const kept = bytes(letters.length);
    kept.set(letters);
    this.#known = { keys: copied(keys), letters: kept };
    const made = { numbers: copied(numbers), starts: copied(starts), once: copied(once) };
    this.#texts.set(text, made);
    return made;
  }

  /** The letters and digits of a line, up to 20. */
  lettersOf(number: number): number {
    return this.#known.letters[number] ?? 0;
  }
}

/** Whether a line has enough letters or digits, unlike a brace. */
export function isTelling(line: string): boolean {
  return lettersOf(line) >= TELLING;
}

/** Letters and digits of a line that does not look like many others. */
export const TELLING = 6;

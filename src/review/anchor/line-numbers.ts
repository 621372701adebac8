import type { FileText } from "./file-text.ts";
import { textOf } from "./file-lines.ts";
import { keyOf } from "./line-words.ts";

/** A text that is compared with others. */
export interface NumberedText {
  /** Lines that differ only in space and the kind of quotes have the same number. */
  readonly numbers: Int32Array;
  /** The offset of each line in the content. */
  readonly starts: Int32Array;
  /** The index of each number that occurs once. Others are negative; later numbers are missing. */
  readonly once: Int32Array;
}

/** More letters make no difference. */
const MOST_LETTERS = 20;

const NONE = -1;
const SEVERAL = -2;

/**
 * Numbers the lines of the versions of a file. They have most lines in common, so what is known of a
 * line is kept by its number. Lines are told apart by a hash of 64 bits, which is made of the bytes of
 * the text: a list may need a hundred files, and making strings of all lines takes longer.
 */
export class LineNumbers {
  readonly #texts = new Map<FileText, NumberedText>();
  #count = 0;
  #high = new Int32Array(512);
  #low = new Int32Array(512);
  #letters = new Uint8Array(512);
  /** Hash table: numbers, plus one. */
  #table = new Int32Array(2048);

  /** How many numbers there are. */
  get size(): number {
    return this.#count;
  }

  of(text: FileText): NumberedText {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const { numbers, starts } = this.#numbersOf(text.content);
    const once = new Int32Array(this.#count).fill(NONE);
    for (let at = 0; at < numbers.length; at++) {
      const number = numbers[at] ?? 0;
      once[number] = once[number] === NONE ? at : SEVERAL;
    }
    const numbered = { numbers, starts, once };
    this.#texts.set(text, numbered);
    return numbered;
  }

  /** The letters and digits of a line, up to 20. */
  lettersOf(number: number): number {
    return this.#letters[number] ?? 0;
  }

  #numbersOf(content: Uint8Array): Pick<NumberedText, "numbers" | "starts"> {
    const count = hashLines(content);
    const { starts, highs, lows, letters } = hashed;
    const numbers = new Int32Array(count);
    for (let line = 0; line < count; line++) {
      numbers[line] = this.#numberOf(highs[line] ?? 0, lows[line] ?? 0, letters[line] ?? 0);
    }
    return { numbers, starts: starts.slice(0, count) };
  }

  #numberOf(high: number, low: number, letters: number): number {
    const mask = this.#table.length - 1;
    let slot = (high ^ (high >>> 15)) & mask;
    for (;;) {
      const number = (this.#table[slot] ?? 0) - 1;
      if (number < 0) break;
      if (this.#high[number] === high && this.#low[number] === low) return number;
      slot = (slot + 1) & mask;
    }
    const number = this.#count++;
    if (number === this.#high.length) this.#grow();
    this.#table[slot] = number + 1;
    this.#high[number] = high;
    this.#low[number] = low;
    this.#letters[number] = Math.min(letters, MOST_LETTERS);
    if (this.#count * 2 > this.#table.length) this.#rehash();
    return number;
  }

  #grow(): void {
    this.#high = grown(this.#high);
    this.#low = grown(this.#low);
    const letters = new Uint8Array(this.#letters.length * 2);
    letters.set(this.#letters);
    this.#letters = letters;
  }

  #rehash(): void {
    const mask = this.#table.length * 2 - 1;
    this.#table = new Int32Array(mask + 1);
    for (let number = 0; number < this.#count; number++) {
      const high = this.#high[number] ?? 0;
      let slot = (high ^ (high >>> 15)) & mask;
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
      this.#table[slot] = number + 1;
    }
  }
}

/** The lines that were hashed last. The arrays are used again for the next text. */
const hashed = {
  starts: new Int32Array(1024),
  highs: new Int32Array(1024),
  lows: new Int32Array(1024),
  letters: new Int32Array(1024),
};

const SPACE = 0;
const LINE_END = 1;
/** A byte of a character that has several. */
const PART = 2;
const LETTER = 256;
/** A character as it is hashed, with `LETTER` for letters and digits. */
const CHARACTER = 512;
/** Beyond all kinds. */
const OTHER = 1024;
const KINDS = Uint16Array.from({ length: 256 }, (_, byte) => {
  if (byte === 10) return LINE_END;
  if (byte === 32 || (byte >= 9 && byte <= 13)) return SPACE;
  if (byte > 127) return PART;
  const lower = byte | 32;
  const isLetter = (lower >= 97 && lower <= 122) || (byte >= 48 && byte <= 57);
  return CHARACTER + (isLetter ? LETTER : 0) + (byte === 39 || byte === 96 ? 34 : byte);
});

const HIGH = 0x811c9dc5 | 0;
const LOW = 0x9e3779b9 | 0;

/**
 * Hashes each line as `keyOf` has it, and counts its letters. Each byte is looked up once and hashed
 * without a call (`Math.imul` is one until the code is compiled): no other function takes a list as long.
 */
function hashLines(content: Uint8Array): number {
  const { length } = content;
  let line = 0;
  for (let at = 0; at < length; at++, line++) {
    let high = HIGH;
    let low = LOW;
    let letters = 0;
    let isPlain = true;
    const from = at;
    for (; at < length; at++) {
      const kind = KINDS[content[at] ?? 0] ?? 0;
      if (kind < CHARACTER) {
        if (kind === SPACE) continue;
        if (kind === LINE_END) break;
        isPlain = false;
      }
      letters += kind & LETTER;
      high = ((high << 5) - high + kind) | 0;
      low = ((low << 13) - low + kind) ^ (low >>> 15);
    }
    if (line === hashed.starts.length) growHashed();
    hashed.starts[line] = from;
    hashed.highs[line] = high;
    hashed.lows[line] = low;
    hashed.letters[line] = letters / LETTER;
    if (!isPlain) hashOther(textOf(content.subarray(from, at)), line);
  }
  return line;
}

/** The same for a line with characters of more than one byte. */
function hashOther(text: string, line: number): void {
  const key = keyOf(text);
  let [high, low] = [HIGH, LOW];
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    // Without what is not of ASCII, it may be the same as a line that is all ASCII.
    const kind = code > 127 ? OTHER + code : (KINDS[code] ?? 0);
    high = ((high << 5) - high + kind) | 0;
    low = ((low << 13) - low + kind) ^ (low >>> 15);
  }
  hashed.highs[line] = high;
  hashed.lows[line] = low;
  hashed.letters[line] = lettersOf(key);
}

function growHashed(): void {
  hashed.starts = grown(hashed.starts);
  hashed.highs = grown(hashed.highs);
  hashed.lows = grown(hashed.lows);
  hashed.letters = grown(hashed.letters);
}

function grown(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
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

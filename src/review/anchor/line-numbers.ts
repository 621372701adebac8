import type { FileText } from "./file-text.ts";
import { textOf } from "./file-lines.ts";
import { bytes, copied, ints } from "./line-map.ts";
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
  #high = ints(512);
  #low = ints(512);
  #letters = bytes(512);
  /** Hash table: numbers, plus one. */
  #table = ints(1024);

  /** How many numbers there are. */
  get size(): number {
    return this.#count;
  }

  /** `like` is a version with the same lines, mostly: comparing lines takes less time than hashing them. */
  of(text: FileText, like?: FileText): NumberedText {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const count = this.#number(text.content, like);
    const numbers = copied(scratch.numbers, count);
    const once = onceIn(numbers, this.#count);
    const numbered = { numbers, starts: copied(scratch.starts, count), once };
    this.#texts.set(text, numbered);
    return numbered;
  }

  /** The letters and digits of a line, up to 20. */
  lettersOf(number: number): number {
    return this.#letters[number] ?? 0;
  }

  /** Numbers the lines of a text, and returns how many there are. */
  #number(content: Uint8Array, like: FileText | undefined): number {
    const known = like && this.#texts.get(like);
    const next = known && new NextLines(like.content, known, content);
    let line = 0;
    for (let at = 0; at < content.length; line++) {
      if (line === scratch.starts.length) growScratch();
      scratch.starts[line] = at;
      let number = next?.at(at) ?? NONE;
      if (number === NONE) {
        at = hashLine(content, at);
        number = this.#numberOf(hashed[0] ?? 0, hashed[1] ?? 0, hashed[2] ?? 0);
        next?.skipTo(number);
      } else at = next?.end ?? at;
      scratch.numbers[line] = number;
    }
    return line;
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

/** The index of each number that occurs once, of so many. */
function onceIn(numbers: Int32Array, size: number): Int32Array {
  const once = ints(size).fill(NONE);
  for (let at = 0; at < numbers.length; at++) {
    const number = numbers[at] ?? 0;
    once[number] = once[number] === NONE ? at : SEVERAL;
  }
  return once;
}

/** The text that was numbered last. The arrays are used again for the next one. */
const scratch = { starts: new Int32Array(1024), numbers: new Int32Array(1024) };

function growScratch(): void {
  scratch.starts = grown(scratch.starts);
  scratch.numbers = grown(scratch.numbers);
}

/** Finds lines of a text in another, where they follow each other as in that one. */
class NextLines {
  /** The end of the line that was found last. */
  end = 0;
  readonly #like: NumberedText;
  readonly #length: number;
  readonly #size: number;
  readonly #there: DataView;
  readonly #here: DataView;
  #next = 0;

  constructor(there: Uint8Array, like: NumberedText, here: Uint8Array) {
    this.#like = like;
    // Without the last line, which may have no line end, and then be the beginning of another.
    this.#length = like.starts.length - 1;
    this.#size = here.length;
    this.#there = new DataView(there.buffer, there.byteOffset, there.length);
    this.#here = new DataView(here.buffer, here.byteOffset, here.length);
  }

  /** The number of the line at an offset, if it is the next one; or -1. */
  at(offset: number): number {
    if (this.#next >= this.#length) return NONE;
    const { starts, numbers } = this.#like;
    let from = starts[this.#next] ?? 0;
    const to = starts[this.#next + 1] ?? 0;
    const end = offset + to - from;
    const here = this.#here;
    const there = this.#there;
    if (end > this.#size) return NONE;
    let at = offset;
    for (; from < to - 3; from += 4, at += 4) {
      if (there.getInt32(from, true) !== here.getInt32(at, true)) return NONE;
    }
    for (; from < to; from++, at++) if (there.getInt8(from) !== here.getInt8(at)) return NONE;
    this.end = end;
    return numbers[this.#next++] ?? NONE;
  }

  /** Goes on after another line. If it is new, or there are several, the next one may still follow. */
  skipTo(number: number): void {
    const found = this.#like.once[number] ?? NONE;
    if (found >= 0) this.#next = found + 1;
  }
}

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

/** Of the line that was hashed last: two halves of the hash, and the number of letters. */
const hashed = new Int32Array(3);

/**
 * Hashes a line as `keyOf` has it, counts its letters, and returns where the next one begins. Each byte is
 * looked up once and hashed without a call (`Math.imul` is one until the code is compiled), and no sum is
 * checked for being too large: no other function takes a list as long.
 */
function hashLine(content: Uint8Array, from: number): number {
  const { length } = content;
  let high = HIGH;
  let low = LOW;
  let letters = 0;
  let isPlain = true;
  let at = from;
  for (; at < length; at++) {
    const kind = KINDS[content[at] ?? 0] ?? 0;
    if (kind < CHARACTER) {
      if (kind === SPACE) continue;
      if (kind === LINE_END) break;
      isPlain = false;
    }
    letters = (letters + (kind & LETTER)) | 0;
    high = ((high << 5) - high + kind) | 0;
    low = ((low << 13) - low + kind) ^ (low >>> 15);
  }
  hashed[0] = high;
  hashed[1] = low;
  hashed[2] = letters / LETTER;
  if (!isPlain) hashOther(textOf(content, from, at));
  return at + 1;
}

/** The same for a line with characters of more than one byte. */
function hashOther(text: string): void {
  const key = keyOf(text);
  let [high, low] = [HIGH, LOW];
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    // Without what is not of ASCII, it may be the same as a line that is all ASCII.
    const kind = code > 127 ? OTHER + code : (KINDS[code] ?? 0);
    high = ((high << 5) - high + kind) | 0;
    low = ((low << 13) - low + kind) ^ (low >>> 15);
  }
  hashed[0] = high;
  hashed[1] = low;
  hashed[2] = lettersOf(key);
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

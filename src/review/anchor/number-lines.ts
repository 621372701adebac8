import { textOf } from "./file-lines.ts";
import { WASM } from "./line-numbers.gen.ts";
import { keyOf } from "./line-words.ts";

/** By what lines are told apart. The number of a line is its index. */
export interface KnownLines {
  /** A hash of each, as two halves. */
  readonly keys: Int32Array;
  /** The letters and digits of each, up to 20. */
  readonly letters: Uint8Array;
}

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

/** What `line-numbers.wat` has, with a description of each. */
interface Functions {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  countEnds(from: number, to: number): number;
  begin(count: number, keys: number, letters: number, table: number, mask: number): void;
  numberLines(from: number, to: number, starts: number, numbers: number, once: number): number;
}

/** Node's types leave it out. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Module: new (code: Uint8Array) => object;
    readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  };
};

const OTHER = 0x200;
const SEED = 0x210;
const TEXT = 0x400;
const PAGE = 0x10000;
/** Bytes that are kept for the next text. */
const MOST_KEPT = 4 * 1024 * 1024;
const LINE_FEED = 10;
const NO_LINE_ENDS = new Uint8Array(8);

/** The same for all instances, since lines are known by their keys. Odd, as a factor must be. */
const [seed, seedAbove] = [Math.random(), Math.random()].map(
  (part) => Math.floor(part * 2 ** 32) | 1,
) as [number, number];

let functions: Functions | undefined;
/** All of the memory of the functions; another object when it has grown. */
let memory = Buffer.alloc(0);
/** Where the memory is free. */
let free = TEXT;

/**
 * Numbers the lines of a text; lines that are known have their numbers. The results are in memory that the
 * next call uses again.
 *
 * The loops are WebAssembly, which is fast from the first call on: a list may need a hundred files, and ends
 * when V8 has just compiled loops over every byte.
 */
export function numberLines(content: Uint8Array, known: KnownLines): NumberedText & KnownLines {
  functions ??= instantiate();
  free = TEXT;
  const text = put(content);
  // Behind it are eight bytes that are no line ends.
  const to = text + content.length;
  take(8);
  put(NO_LINE_ENDS, to);
  const hasRest = content.length > 0 && content.at(-1) !== LINE_FEED;
  const lines = functions.countEnds(text, to) + (hasRest ? 1 : 0);
  const before = known.letters.length;
  const most = before + lines;
  const keys = put(known.keys, take(8 * most));
  const letters = put(known.letters, take(most));
  // The next power of two that leaves half of the table empty.
  const slots = 1 << (32 - Math.clz32(2 * most));
  const table = take(4 * slots, 0);
  functions.begin(before, keys, letters, table, slots - 1);
  const starts = take(4 * lines);
  const numbers = take(4 * lines);
  const once = take(4 * most, 255);
  const count = functions.numberLines(text, to, starts, numbers, once);
  const found = {
    numbers: ints(numbers, lines),
    starts: ints(starts, lines),
    once: ints(once, count),
    keys: ints(keys, 2 * count),
    letters: memory.subarray(letters, letters + count),
  };
  if (memory.length > MOST_KEPT) functions = undefined;
  return found;
}

/** Takes some bytes of the memory, which is made as large as is needed, and fills them. */
function take(size: number, byte?: number): number {
  const at = free;
  free = (at + size + 7) & ~7;
  const missing = free - memory.length;
  if (missing > 0 && functions !== undefined) {
    functions.memory.grow(Math.ceil(missing / PAGE));
    memory = Buffer.from(functions.memory.buffer);
  }
  if (byte !== undefined) memory.fill(byte, at, at + size);
  return at;
}

/** Puts a list into the memory. */
function put(list: Uint8Array | Int32Array, at = take(list.byteLength)): number {
  memory.set(new Uint8Array(list.buffer, list.byteOffset, list.byteLength), at);
  return at;
}

function ints(at: number, length: number): Int32Array {
  return new Int32Array(memory.buffer, at, length);
}

function instantiate(): Functions {
  const module = new WebAssembly.Module(Buffer.from(WASM, "base64"));
  const { exports } = new WebAssembly.Instance(module, { lines: { other } });
  const made = exports as Functions;
  memory = Buffer.from(made.memory.buffer);
  for (let byte = 0; byte < 256; byte++) memory.writeUInt16LE(kindOf(byte), 2 * byte);
  memory.writeInt32LE(seed, SEED);
  memory.writeInt32LE(seedAbove, SEED + 4);
  return made;
}

/** What a byte counts as. */
function kindOf(byte: number): number {
  const [space, lineEnd, part, character, letter] = [0, 1, 2, 512, 256];
  if (byte === 10) return lineEnd;
  if (byte === 32 || (byte >= 9 && byte <= 13)) return space;
  if (byte > 127) return part;
  const lower = byte | 32;
  const isLetter = (lower >= 97 && lower <= 122) || (byte >= 48 && byte <= 57);
  return character + (isLetter ? letter : 0) + (byte === 39 || byte === 96 ? 34 : byte);
}

/** Whatever is not ASCII: see `line-numbers.wat`. */
function other(from: number, to: number): number {
  const key = keyOf(textOf(memory, from, to));
  if (!/[^\0-\x7f]/.test(key)) {
    // Without a space that is not ASCII.
    return memory.write(key, from, "latin1");
  }
  let [high, low] = [seed, seedAbove];
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    // Rotated, as in `line-numbers.wat`: characters may differ in their highest bits only.
    high = Math.imul(((high << 5) | (high >>> 27)) ^ code, 0x01000193);
    low = (Math.imul(((low << 13) | (low >>> 19)) ^ code, 0x85ebca6b) + high) | 0;
  }
  memory.writeInt32LE(high, OTHER);
  memory.writeInt32LE(low, OTHER + 4);
  memory.writeInt32LE(lettersOf(key), OTHER + 8);
  return -1;
}

/** The letters and digits of a line, up to 20. */
export function lettersOf(line: string): number {
  let letters = 0;
  for (let at = 0; at < line.length && letters < MOST_LETTERS; at++) {
    const code = line.charCodeAt(at);
    const lower = code | 32;
    if ((lower >= 97 && lower <= 122) || (code >= 48 && code <= 57)) letters++;
    else if (code > 127 && /[\p{L}\p{N}]/u.test(line.charAt(at))) letters++;
  }
  return letters;
}

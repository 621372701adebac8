import type { ParsedFile } from "./parse-file.ts";
import type { KeyPath } from "../layer.ts";

/** Longer than usual configurations, and short enough for the pattern below. */
const LONGEST = 64 * 1024;
const MAX_DEPTH = 64;

/**
 * Punctuation, a string or another value, after spaces and comments. A comment has one end only: if it
 * could end earlier, or later, a mistake behind twenty comments would be tried in a million ways.
 */
const TOKEN =
  /(?:[ \t\r\n]|\/\/[^\r\n]*(?![^\r\n])|\/\*(?:(?!\*\/)[^])*\*\/)*(?:([{}[\]:,]|$)|("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null))/y;

/** Called with the offset of a value and its key. */
type Note = (path: KeyPath, key: number, value: number) => void;

/**
 * Parses JSON with comments and trailing commas as `parseFile` does, but in a fraction of the time that
 * loading that takes, because every start waits for it. Returns undefined if the text has a mistake;
 * `parseFile` then reports it.
 */
export function quickParse(text: string): ParsedFile | undefined {
  if (text.length > LONGEST) return undefined;
  const value = parsePlain(text) ?? parse(text);
  if (value === undefined) return undefined;
  const offsetOf = (path: KeyPath): { key: number; value: number } => {
    const steps = path.map(String);
    let nearest = { key: 0, value: 0 };
    let depth = -1;
    parse(text, (here, key, at) => {
      if (here.length <= depth || here.length > steps.length) return;
      if (!here.every((step, index) => String(step) === steps[index])) return;
      depth = here.length;
      nearest = { key, value: at };
    });
    return nearest;
  };
  return {
    value,
    valuePosition: (path) => new LineMap(text).position(offsetOf(path).value),
    keyPosition: (path) => new LineMap(text).position(offsetOf(path).key),
  };
}

/**
 * Uses `JSON.parse`, which accepts no comments and silently takes the second of two equal keys.
 */
function parsePlain(text: string): unknown {
  if (text.includes("\\") || text.includes("__proto__")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isWhole = count(text, '"') === count(JSON.stringify(value), '"');
    const isFlat = count(text, "{") + count(text, "[") <= MAX_DEPTH || !isDeep(value, MAX_DEPTH);
    return isWhole && isFlat ? value : undefined;
  } catch {
    return undefined;
  }
}

function count(text: string, mark: string): number {
  let found = 0;
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) found++;
  return found;
}

function isDeep(value: unknown, room: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return room === 0 || Object.values(value).some((item) => isDeep(item, room - 1));
}

function parse(text: string, note?: Note): unknown {
  try {
    return new QuickParser(text, note).parse();
  } catch (error) {
    // JSON.parse decides whether a string or a number is valid.
    if (error instanceof SyntaxError || error instanceof Unusual) return undefined;
    throw error;
  }
}

class Unusual extends Error {}

class QuickParser {
  readonly #text: string;
  readonly #note: Note | undefined;
  readonly #path: (string | number)[] = [];
  /** The token that was read last: punctuation, or the text of a value. */
  #mark: string | undefined;
  #literal: string | undefined;
  #from = 0;
  #at = 0;

  constructor(text: string, note: Note | undefined) {
    this.#text = text;
    this.#note = note;
  }

  parse(): unknown {
    this.#next();
    const value = this.#value();
    this.#next();
    return this.#mark === "" ? value : this.#complain();
  }

  #next(): void {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#text);
    if (found === null) this.#complain();
    else {
      this.#at = TOKEN.lastIndex;
      [, this.#mark, this.#literal] = found;
      this.#from = this.#at - (this.#mark ?? this.#literal ?? "").length;
    }
  }

  /** Parses the value whose first token was read. */
  #value(key = this.#from): unknown {
    this.#note?.(this.#path, key, this.#from);
    if (this.#path.length >= MAX_DEPTH) return this.#complain();
    if (this.#literal !== undefined) return JSON.parse(this.#literal);
    if (this.#mark === "{") return this.#object();
    return this.#mark === "[" ? this.#list() : this.#complain();
  }

  #object(): unknown {
    const object: Record<string, unknown> = {};
    for (this.#next(); this.#mark !== "}"; this.#separated("}")) {
      const from = this.#from;
      if (this.#literal?.startsWith('"') !== true) this.#complain();
      const name = JSON.parse(this.#literal ?? "") as string;
      if (name === "__proto__" || Object.hasOwn(object, name)) this.#complain();
      this.#next();
      if (this.#mark !== ":") this.#complain();
      this.#next();
      this.#path.push(name);
      object[name] = this.#value(from);
      this.#path.pop();
    }
    return object;
  }

  #list(): unknown {
    const list: unknown[] = [];
    for (this.#next(); this.#mark !== "]"; this.#separated("]")) {
      this.#path.push(list.length);
      list.push(this.#value());
      this.#path.pop();
    }
    return list;
  }

  /** Reads the first token of the next member, or the end. */
  #separated(end: string): void {
    this.#next();
    if (this.#mark === end) return;
    if (this.#mark !== ",") this.#complain();
    this.#next();
  }

  #complain(): never {
    throw new Unusual();
  }
}

/** Turns offsets into a text to lines and columns, both counted from 1. */
export class LineMap {
  readonly #starts: readonly number[];
  readonly #hasMark: boolean;

  constructor(text: string) {
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
      starts.push(at + 1);
    }
    this.#starts = starts;
    this.#hasMark = text.startsWith("\ufeff");
  }

  /** `LINE:COLUMN`, as editors and compilers write it. */
  position(offset: number): string {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    // Editors do not show a byte order mark, nor count it.
    const mark = low === 0 && this.#hasMark && offset > 0 ? 1 : 0;
    return `${low + 1}:${offset - (this.#starts[low] ?? 0) - mark + 1}`;
  }
}

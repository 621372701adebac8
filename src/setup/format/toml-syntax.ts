/**
 * A statement of a TOML file (https://toml.io/en/v1.0.0): the header of a table, or a key with its
 * value. Offsets are those in the text.
 */
export interface Statement {
  readonly kind: "table" | "list" | "key";
  /** Of a header its whole name; of a key its name within the table. */
  readonly path: readonly string[];
  /** Where it begins; where its value begins; where it ends, without a comment. */
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
  readonly value?: TomlValue;
}

export type TomlValue = string | number | boolean | Scalar | TomlValue[] | TomlTable;
export interface TomlTable {
  [name: string]: TomlValue;
}

/** A value that is kept as it is written: a date, or a number that JavaScript has not. */
export class Scalar {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const MAX_DEPTH = 64;
const SPACE = /[ \t]*/y;
/** Space, line breaks and comments. */
const GAP = /(?:[ \t\r\n]|#[^\r\n]*)*/y;
const BARE_KEY = /[\w-]+/y;
const SCALAR = /[^\s,\]}#]+(?: \d\d:\d\d[^\s,\]}#]*)?/y;
const LINE_END = /[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)/y;
const BASIC = /"((?:[^"\\\r\n]|\\.)*)"/y;
const LITERAL = /'([^'\r\n]*)'/y;
const LONG_BASIC = /"""\r?\n?((?:[^"\\]|\\[^]|"{1,2}(?!"))*"{0,2})"""/y;
const LONG_LITERAL = /'''\r?\n?((?:[^']|'{1,2}(?!'))*'{0,2})'''/y;

/** The statements of a text, in order. Throws where it is not TOML. */
export function parseToml(text: string): Statement[] {
  return new Reader(text).statements();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  statements(): Statement[] {
    const found: Statement[] = [];
    for (;;) {
      this.#match(GAP);
      if (this.#at >= this.#text.length) return found;
      found.push(this.#peek() === "[" ? this.#header() : this.#keyAndValue());
      if (this.#match(LINE_END) === undefined) throw this.#wrong("expected the end of the line");
    }
  }

  #header(): Statement {
    const start = this.#at;
    const isList = this.#text.startsWith("[[", start);
    this.#at += isList ? 2 : 1;
    const path = this.#key();
    for (const _ of isList ? "]]" : "]") this.#expect("]");
    return { kind: isList ? "list" : "table", path, start, valueStart: start, end: this.#at };
  }

  #keyAndValue(): Statement {
    const start = this.#at;
    const path = this.#key();
    this.#expect("=");
    this.#match(SPACE);
    const valueStart = this.#at;
    const value = this.#value(0);
    return { kind: "key", path, start, valueStart, end: this.#at, value };
  }

  /** A name, or several with dots between them. */
  #key(): string[] {
    const names: string[] = [];
    do {
      this.#match(SPACE);
      const name = this.#match(BARE_KEY)?.[0] ?? this.#shortString();
      // No program has it, and it would not be a key in JavaScript.
      if (name === undefined || name === "__proto__") throw this.#wrong("expected a key");
      names.push(name);
      this.#match(SPACE);
    } while (this.#skip("."));
    return names;
  }

  #value(depth: number): TomlValue {
    if (depth > MAX_DEPTH) throw this.#wrong("too deep");
    const first = this.#peek();
    if (first === "[") return this.#list(depth);
    if (first === "{") return this.#inlineTable(depth);
    if (first !== '"' && first !== "'") return this.#scalar();
    return this.#longString() ?? this.#shortString() ?? this.#fail("this string does not end");
  }

  #list(depth: number): TomlValue[] {
    const items: TomlValue[] = [];
    this.#at++;
    for (;;) {
      this.#match(GAP);
      if (this.#skip("]")) return items;
      items.push(this.#value(depth + 1));
      this.#match(GAP);
      if (!this.#skip(",") && this.#peek() !== "]") throw this.#wrong("expected ',' or ']'");
    }
  }

  #inlineTable(depth: number): TomlTable {
    const table: TomlTable = {};
    this.#at++;
    for (;;) {
      this.#match(GAP);
      if (this.#skip("}")) return table;
      const path = this.#key();
      this.#expect("=");
      this.#match(SPACE);
      put(table, path, this.#value(depth + 1));
      this.#match(GAP);
      if (!this.#skip(",") && this.#peek() !== "}") throw this.#wrong("expected ',' or '}'");
    }
  }

  #scalar(): TomlValue {
    const [word = ""] = this.#match(SCALAR) ?? [];
    if (word === "true" || word === "false") return word === "true";
    if (!/^(?:[+-]?\d|[+-]?(?:inf|nan)$)/.test(word)) throw this.#wrong("expected a value");
    const number = Number(word);
    const isPlain = String(number) === word && (Number.isSafeInteger(number) || /\./.test(word));
    return isPlain ? number : new Scalar(word);
  }

  #longString(): string | undefined {
    const basic = this.#match(LONG_BASIC)?.[1];
    if (basic === undefined) return this.#match(LONG_LITERAL)?.[1];
    return this.#unescaped(basic.replaceAll(/\\[ \t]*\r?\n\s*/g, ""));
  }

  #shortString(): string | undefined {
    const basic = this.#match(BASIC)?.[1];
    return basic === undefined ? this.#match(LITERAL)?.[1] : this.#unescaped(basic);
  }

  #unescaped(text: string): string {
    return text.replaceAll(
      /\\(?:u([\da-f]{4})|U([\da-f]{8})|(.))/gi,
      (_, short?: string, long?: string, letter: string = "") => {
        const code = Number.parseInt(short ?? long ?? "", 16);
        if (code <= 0x10_ff_ff) return String.fromCodePoint(code);
        return ESCAPES[letter] ?? this.#fail(`'\\${letter}' is no escape`);
      },
    );
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #skip(word: string): boolean {
    const isThere = this.#text.startsWith(word, this.#at);
    if (isThere) this.#at += word.length;
    return isThere;
  }

  #expect(word: string): void {
    if (!this.#skip(word)) throw this.#wrong(`expected '${word}'`);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at += found[0].length;
    return found;
  }

  #fail(says: string): never {
    throw this.#wrong(says);
  }

  #wrong(says: string): Error {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new Error(`it is not TOML (line ${line}: ${says})`);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ b: "\b", t: "\t", n: "\n", f: "\f", r: "\r" },
  ...{ '"': '"', "\\": "\\" },
};

/** Puts a value into a table, and makes the tables on the way. Nothing may be there twice. */
export function put(table: TomlTable, path: readonly string[], value: TomlValue): void {
  const [name = "", ...rest] = path;
  const present = Object.hasOwn(table, name) ? table[name] : undefined;
  if (rest.length === 0) {
    if (present !== undefined) throw new Error(`it is not TOML ('${name}' is there twice)`);
    table[name] = value;
    return;
  }
  const inner = present ?? (table[name] = {});
  put(asTable(inner, name), rest, value);
}

/** The table that a value is; of a list of tables, the last. */
export function asTable(value: TomlValue | undefined, name: string): TomlTable {
  const last = Array.isArray(value) ? value.at(-1) : value;
  const isTable = typeof last === "object" && !Array.isArray(last) && !(last instanceof Scalar);
  if (!isTable) throw new Error(`it is not TOML ('${name}' is no table)`);
  return last;
}

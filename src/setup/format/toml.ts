import type { Format, KeyPath } from "./format.ts";

/** TOML. A map is added as a table of its own at the end, where no other statement changes it. */
export const toml: Format = {
  read: (text) => tableOf(parseToml(text)),

  set(text, path, value) {
    const statements = parseToml(text);
    const at = statements.findIndex((each) => each.kind === "table" && isSame(each.path, path));
    const rest = at < 0 ? text : removed(text, statements, path);
    if (isTable(value)) return appended(rest, path, value);
    return at < 0 ? setKey(text, statements, path, value) : rest;
  },
};

function tableOf(statements: readonly Statement[]): TomlTable {
  const root: TomlTable = {};
  /** Inline tables and lists are complete where they are written. */
  const closed = new Set<unknown>();
  const opened = new Set<unknown>();
  let table = root;
  for (const { kind, path, value } of statements) {
    if (kind === "key" && value !== undefined) {
      put(table, path, value);
      closed.add(value);
      continue;
    }
    table = root;
    for (const [index, name] of path.entries()) {
      const isLast = index === path.length - 1;
      const present = Object.hasOwn(table, name) ? table[name] : undefined;
      if (closed.has(present)) throw new Error(`it is not TOML ('${name}' is there twice)`);
      if (kind === "list" && isLast) {
        const list = (table[name] ??= []);
        if (!Array.isArray(list)) throw new Error(`it is not TOML ('${name}' is no list)`);
        list.push({});
      } else if (present === undefined) table[name] = {};
      table = asTable(table[name], name);
    }
    if (kind === "table" && opened.has(table)) {
      throw new Error(`it is not TOML ([${path.join(".")}] is there twice)`);
    }
    opened.add(table);
  }
  return root;
}

function appended(text: string, path: KeyPath, table: TomlTable): string {
  const eol = eolOf(text);
  const lines = Object.entries(table).map(
    ([name, value]) => `${keyText([name])} = ${render(value)}`,
  );
  const block = [`[${keyText(path)}]`, ...lines, ""].join(eol);
  if (text === "") return block;
  return `${text}${text.endsWith("\n") ? "" : eol}${eol}${block}`;
}

/** Without a table and the tables in it. */
function removed(text: string, statements: readonly Statement[], path: KeyPath): string {
  const isOurs = (each: Statement): boolean =>
    each.kind !== "key" && isSame(each.path.slice(0, path.length), path);
  let after = text;
  for (let at = statements.length - 1; at >= 0; at--) {
    const header = statements[at];
    if (header === undefined || !isOurs(header)) continue;
    const next = statements.findIndex((each, index) => index > at && each.kind !== "key");
    const last = statements.at(next < 0 ? -1 : next - 1) ?? header;
    after = cutLines(after, header.start, last.end);
  }
  return after;
}

function setKey(
  text: string,
  statements: readonly Statement[],
  path: KeyPath,
  value: unknown,
): string {
  const [table, name] = [path.slice(0, -1), path.at(-1) ?? ""];
  const header = statements.findIndex((each) => each.kind === "table" && isSame(each.path, table));
  const opening = statements[header];
  if (opening === undefined) {
    throw new Error(`'${table.join(".")}' is not written as a table of its own`);
  }
  const next = statements.findIndex((each, index) => index > header && each.kind !== "key");
  const keys = statements.slice(header + 1, next < 0 ? undefined : next);
  const present = keys.find((each) => each.path[0] === name);
  if (present === undefined && value === undefined) return text;
  if (present === undefined) {
    const line = `${eolOf(text)}${keyText([name])} = ${render(value as TomlValue)}`;
    const at = lineEnd(text, opening.end);
    return text.slice(0, at) + line + text.slice(at);
  }
  if (value === undefined) return cutLines(text, present.start, present.end);
  return text.slice(0, present.valueStart) + render(value as TomlValue) + text.slice(present.end);
}

/** Cuts whole lines, and an empty line before them that would be left at the end or beside another. */
function cutLines(text: string, start: number, end: number): string {
  const head = text.slice(0, text.lastIndexOf("\n", start - 1) + 1);
  const tail = text.slice(lineEnd(text, end)).replace(/^\r?\n/, "");
  const isLoose = /^\s*(?:$|\n|\r\n)/.test(tail) && /\n\r?\n$/.test(head);
  return (isLoose ? head.replace(/\r?\n$/, "") : head) + tail;
}

function lineEnd(text: string, at: number): number {
  const found = /\r?\n|$/.exec(text.slice(at));
  return at + (found?.index ?? 0);
}

function render(value: TomlValue): string {
  if (value instanceof Scalar) return value.text;
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(render).join(", ")}]`;
  if (!isTable(value)) return String(value);
  const pairs = Object.entries(value).map(([name, item]) => `${keyText([name])} = ${render(item)}`);
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

/** A basic string. JSON's escapes are TOML's, but DEL has to be escaped as well. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", String.raw`\u007f`);
}

function keyText(path: readonly string[]): string {
  return path.map((name) => (/^[\w-]+$/.test(name) ? name : quoted(name))).join(".");
}

function isTable(value: unknown): value is TomlTable {
  const isObject = typeof value === "object" && value !== null;
  return isObject && !Array.isArray(value) && !(value instanceof Scalar);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}

function eolOf(text: string): string {
  return /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
}

/**
 * A statement of a TOML file (https://toml.io/en/v1.0.0): the header of a table, or a key with its
 * value. Offsets are those in the text.
 */
interface Statement {
  readonly kind: "table" | "list" | "key";
  /** Of a header its whole name; of a key its name within the table. */
  readonly path: readonly string[];
  /** Where it begins; where its value begins; where it ends, without a comment. */
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
  readonly value?: TomlValue;
}

type TomlValue = string | number | boolean | Scalar | TomlValue[] | TomlTable;
interface TomlTable {
  [name: string]: TomlValue;
}

/** A value that is kept as it is written: a date, or a number that JavaScript has not. */
class Scalar {
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
function parseToml(text: string): Statement[] {
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
function put(table: TomlTable, path: readonly string[], value: TomlValue): void {
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
function asTable(value: TomlValue | undefined, name: string): TomlTable {
  const last = Array.isArray(value) ? value.at(-1) : value;
  const isTable = typeof last === "object" && !Array.isArray(last) && !(last instanceof Scalar);
  if (!isTable) throw new Error(`it is not TOML ('${name}' is no table)`);
  return last;
}

import type { Format, KeyPath } from "./format.ts";
import {
  asTable,
  parseToml,
  put,
  Scalar,
  type Statement,
  type TomlTable,
  type TomlValue,
} from "./toml-syntax.ts";

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

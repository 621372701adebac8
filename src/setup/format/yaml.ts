import {
  isMap,
  isSeq,
  parseDocument,
  stringify,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

import { eolOf, splice } from "../../config/file/set-in-jsonc.ts";
import { objectAround } from "../../config/set-path.ts";
import type { Format } from "./format.ts";

type Collection = YAMLMap<Node, Node | null> | YAMLSeq<Node>;

/** One entry of a map or of a list of maps: where it begins, and its value. */
interface Item {
  readonly name: unknown;
  readonly start: number;
  readonly value: Node | null;
}

/**
 * YAML. Only the lines of a value are written: the library's own way back to text keeps comments, but
 * not the layout.
 */
export const yaml: Format = yamlWith(objectAround);

/** The same for entries that are items of a list, by their `name`. */
export const yamlList: Format = yamlWith((path, value) => {
  return path.length === 0 ? value : objectAround(path.slice(0, -1), [value]);
});

function yamlWith(nested: (path: readonly string[], value: unknown) => unknown): Format {
  return {
    read: (text) => rootOf(text)?.toJSON() as unknown,

    set(text, path, value) {
      let node: unknown = rootOf(text);
      if (node === undefined)
        return value === undefined ? text : lines(text) + blockText(nested(path, value));
      for (const [index, name] of path.entries()) {
        const rest = path.slice(index + 1);
        if (!isCollection(node))
          throw new Error(`'${path[index - 1] ?? ""}' is not a map or a list`);
        const item = itemsOf(node).find((each) => each.name === name);
        if (item === undefined) {
          return value === undefined ? text : insert(text, node, name, nested(rest, value));
        }
        if (rest.length === 0) return replace(text, node, item, value);
        // `extensions:` with nothing behind it, or `{}`: the whole value is written anew.
        if (item.value === null || isEmpty(item.value)) {
          return value === undefined ? text : replace(text, node, item, nested(rest, value));
        }
        node = item.value;
      }
      return text;
    },
  };
}

function rootOf(text: string): Node | undefined {
  const document = parseDocument(text);
  const [wrong] = document.errors;
  if (wrong !== undefined)
    throw new Error(`it is not YAML (${wrong.message.split("\n")[0] ?? ""})`);
  const { contents } = document;
  if (contents === null || isEmptyScalar(contents)) return undefined;
  if (!isMap(contents)) throw new Error("it is not a YAML map");
  return contents;
}

function isEmptyScalar(node: Node): boolean {
  return "value" in node && node.value === null;
}

function isCollection(node: unknown): node is Collection {
  return isMap(node) || isSeq(node);
}

function isEmpty(node: Node): boolean {
  return isEmptyScalar(node) || (isCollection(node) && node.items.length === 0);
}

function itemsOf(node: Collection): Item[] {
  return isSeq(node)
    ? node.items.map((value) => ({
        name: isMap(value) ? value.get("name") : undefined,
        start: value.range?.[0] ?? 0,
        value,
      }))
    : node.items.map(({ key, value }) => ({
        name: key.toJSON() as unknown,
        start: key.range?.[0] ?? 0,
        value,
      }));
}

/** Adds an entry behind the last one, with the indentation of its neighbours. */
function insert(text: string, node: Collection, name: string, value: unknown): string {
  const last = itemsOf(node).at(-1);
  if (last === undefined) throw new Error(`'${name}' has no neighbours`);
  const end = endOf(text, last);
  if (node.flow === true) {
    const word = isSeq(node) ? "" : `${JSON.stringify(name)}: `;
    return splice(text, end, end, `, ${word}${JSON.stringify(value)}`);
  }
  const at = lineEnd(text, end);
  const start = isSeq(node) ? text.lastIndexOf("-", last.start - 1) : last.start;
  const indent = indentAt(text, start);
  const added = isSeq(node) ? blockText([value]) : blockText({ [name]: value });
  return (
    splice(text, at, at, eolOf(text) + indented(added, indent, eolOf(text)).trimEnd()) +
    (at === text.length ? eolOf(text) : "")
  );
}

function replace(text: string, node: Collection, item: Item, value: unknown): string {
  const { start } = item;
  const end = endOf(text, item);
  if (node.flow === true) {
    if (value !== undefined) {
      return splice(text, item.value?.range?.[0] ?? end, end, JSON.stringify(value));
    }
    const after = /^\s*,\s*/.exec(text.slice(end));
    if (after !== null) return splice(text, start, end + after[0].length, "");
    return splice(text, /,?\s*$/.exec(text.slice(0, start))?.index ?? start, end, "");
  }
  const dash = isSeq(node) ? text.lastIndexOf("-", start - 1) : start;
  const from = text.lastIndexOf("\n", dash - 1) + 1;
  if (value !== undefined) {
    const written = isSeq(node) ? blockText([value]) : blockText({ [String(item.name)]: value });
    return splice(text, from, end, indented(written, indentAt(text, dash), eolOf(text)).trimEnd());
  }
  // A map that loses its only entry has to stay one.
  if (itemsOf(node).length === 1) return splice(text, dash, end, isSeq(node) ? "[]" : "{}");
  const to = lineEnd(text, end);
  return splice(text, from, to + (/^\r?\n/.exec(text.slice(to))?.[0].length ?? 0), "");
}

/** Where an entry ends, without comments and empty lines behind it. */
function endOf(text: string, { start, value }: Item): number {
  const last = lastLeaf(value);
  if (last?.range === undefined || last.range === null) return lineEnd(text, start);
  return text.slice(0, last.range[1]).trimEnd().length;
}

/** A block ends where its last value does; the library counts what follows, too. */
function lastLeaf(node: Node | null): Node | null {
  if (!isCollection(node) || node.flow === true) return node;
  const last = itemsOf(node).at(-1)?.value;
  return last === undefined || last === null ? node : lastLeaf(last);
}

function blockText(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

function indented(block: string, indent: string, eol: string): string {
  return block
    .trimEnd()
    .split("\n")
    .map((line) => `${indent}${line}${eol}`)
    .join("");
}

function lines(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}${eolOf(text)}`;
}

function indentAt(text: string, at: number): string {
  return " ".repeat(at - (text.lastIndexOf("\n", at - 1) + 1));
}

function lineEnd(text: string, at: number): number {
  return at + (/\r?\n|$/.exec(text.slice(at))?.index ?? 0);
}

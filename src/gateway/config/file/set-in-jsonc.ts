import {
  applyEdits,
  findNodeAtLocation,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from "jsonc-parser";

import type { KeyPath } from "../layer.ts";

/** Whether a text is one whole object in JSON with comments, so that a value can be set in it. */
export function isJsoncObject(text: string): boolean {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  return root?.type === "object" && errors.length === 0;
}

/**
 * Sets one value in JSON with comments, or removes it if it is undefined. The layout of everything
 * around it is kept; the library's own edit would reformat the neighbours.
 */
export function setInJsonc(text: string, path: KeyPath, value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root?.type !== "object") return setInJsonc("{}\n", path, value);
  if (value === undefined) return applyEdits(text, modify(text, [...path], undefined, {}));
  const [key = "", ...rest] = path;
  return setIn(text, root, String(key), rest.map(String), value);
}

function setIn(text: string, node: Node, key: string, rest: string[], value: unknown): string {
  const found = findNodeAtLocation(node, [key]);
  const [next] = rest;
  if (found?.type === "object" && next !== undefined) {
    return setIn(text, found, next, rest.slice(1), value);
  }
  const whole = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  if (found === undefined) return insert(text, node, key, whole);
  const words = render(whole, lineIndent(text, found.offset), text);
  return splice(text, found.offset, found.offset + found.length, words);
}

/** A comment has one end only, so a comma that is missing takes no time to miss. */
const TO_COMMA = /^(?:\s|\/\/.*(?!.)|\/\*(?:(?!\*\/)[^])*\*\/)*,/;

function insert(
  text: string,
  { offset, length, children = [] }: Node,
  key: string,
  value: unknown,
) {
  const eol = eolOf(text);
  const outer = lineIndent(text, offset);
  const last = children.at(-1);
  const indent = last === undefined ? outer + unitOf(text) : lineIndent(text, last.offset);
  const property = `${indent}${JSON.stringify(key)}: ${render(value, indent, text)}`;
  if (last === undefined) {
    const close = offset + length - 1;
    const inside = text.slice(offset + 1, close).trimEnd();
    return splice(text, offset + 1, close, `${inside}${eol}${property}${eol}${outer}`);
  }
  const end = last.offset + last.length;
  const comma = TO_COMMA.exec(text.slice(end, offset + length - 1));
  const after = end + (comma?.[0].length ?? 0);
  // A comment on the same line belongs to the value before it.
  const [remark = ""] =
    /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*(?=\r?\n))/.exec(text.slice(after)) ?? [];
  const at = after + remark.length;
  const isTight = !/^[ \t]*\r?\n/.test(text.slice(at));
  const added = `${eol}${property}${comma === null ? "" : ","}${isTight ? eol + outer : ""}`;
  const inserted = splice(text, at, at, added);
  return comma === null ? splice(inserted, end, end, ",") : inserted;
}

function splice(text: string, start: number, end: number, words: string): string {
  return text.slice(0, start) + words + text.slice(end);
}

function render(value: unknown, indent: string, text: string): string {
  const lines = JSON.stringify(value, null, unitOf(text)).split("\n");
  return lines.join(eolOf(text) + indent);
}

/** The indentation of the line at an offset. */
function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

/** One level of indentation. */
function unitOf(text: string): string {
  return /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
}

function eolOf(text: string): string {
  return /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
}

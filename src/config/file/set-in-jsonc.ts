import { findNodeAtLocation, type Node, type ParseError, parseTree } from "jsonc-parser";

import type { KeyPath } from "../layer.ts";

/** Whether a text is one whole object in JSON with comments, so that a value can be set in it. */
export function isJsoncObject(text: string): boolean {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  return root?.type === "object" && errors.length === 0;
}

/**
 * Sets one value in JSON with comments, or removes it if it is undefined. The layout of everything
 * around it is kept, and so are all comments; the library's own edit would reformat the neighbours, and
 * remove the comments beside a value with it.
 */
export function setInJsonc(text: string, path: KeyPath, value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root?.type !== "object") return setInJsonc(emptyAfter(text), path, value);
  if (value === undefined) {
    const found = findNodeAtLocation(root, [...path]);
    return remove(text, found?.parent?.type === "array" ? found : found?.parent);
  }
  const [key = "", ...rest] = path;
  return setIn(text, root, String(key), rest.map(String), value);
}

/** The same for a value that comes before all others of a list. */
export function putFirstInJsonc(text: string, path: KeyPath, value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const list = root === undefined ? undefined : findNodeAtLocation(root, [...path]);
  const [first] = list?.type === "array" ? (list.children ?? []) : [];
  if (list === undefined || first === undefined) return setInJsonc(text, path, [value]);
  const isOnLine = !text.slice(list.offset, first.offset).includes("\n");
  const indent = lineIndent(text, first.offset);
  const words = `${render(value, indent, text)},${isOnLine ? " " : eolOf(text) + indent}`;
  return splice(text, first.offset, first.offset, words);
}

/** An object without members, after the comments of a text that has nothing else. */
function emptyAfter(text: string): string {
  const after = `${text.trimEnd()}\n{}\n`;
  return isJsoncObject(after) ? after.trimStart() : "{}\n";
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

/** Removes a property with its comma. Comments around it stay, whomever they are about. */
function remove(text: string, property: Node | undefined): string {
  const siblings = property?.parent?.children ?? [];
  const at = siblings.findIndex((each) => each === property);
  if (property === undefined || at < 0) return text;
  const { offset, length } = property;
  const end = offset + length;
  const before = siblings[at - 1];
  const comma = TO_COMMA.exec(text.slice(end));
  if (comma !== null) {
    const after = end + comma[0].length;
    const between = text.slice(end, after - 1);
    return cut(text, offset, after, between.trim() === "" ? "" : between);
  }
  if (before === undefined) return cut(text, offset, end);
  // The last one: the comma before it goes.
  const endBefore = before.offset + before.length;
  const [separator = ","] = TO_COMMA.exec(text.slice(endBefore)) ?? [];
  const at2 = endBefore + separator.length - 1;
  const rest = text.slice(at2 + 1, offset);
  // On one line the space before it goes, too.
  if (rest.trim() === "" && !rest.includes("\n")) return splice(text, at2, end, "");
  return splice(cut(text, offset, end), at2, at2 + 1, "");
}

/** Cuts a part out, with its lines if nothing else is on them. */
function cut(text: string, start: number, end: number, kept = ""): string {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const isFirst = text.slice(from, start).trim() === "";
  const [space = ""] = /^[ \t]*/.exec(text.slice(end)) ?? [];
  const [eol] = /^\r?\n/.exec(text.slice(end + space.length)) ?? [];
  if (kept === "" && isFirst && eol !== undefined) {
    return splice(text, from, end + space.length + eol.length, "");
  }
  return splice(text, start, kept === "" ? end + space.length : end, kept.trimStart());
}

export function splice(text: string, start: number, end: number, words: string): string {
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

/** The line break that a text uses. */
export function eolOf(text: string): string {
  return /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
}

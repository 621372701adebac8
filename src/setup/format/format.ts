import { isDeepStrictEqual } from "node:util";

import { isObject } from "../../base/check.ts";

/**
 * A kind of configuration file that other programs have. Names in a path are keys; where the file has
 * a list, a name stands for the item whose `name` it is.
 */
export interface Format {
  /** What a text says. Throws with the reason where it is not valid, or not a map. */
  read(text: string): unknown;
  /** The text with a value set, or removed if it is undefined; all else stays as it is written. */
  set(text: string, path: KeyPath, value: unknown): string;
}

export type KeyPath = readonly [string, ...string[]];

/** The value at a path, if there is one. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => {
    if (Array.isArray(inner)) return (inner as unknown[]).find((item) => isNamed(item, name));
    if (!isObject(inner) || !Object.hasOwn(inner, name)) return undefined;
    return inner[name];
  }, value);
}

/** The same without the value at a path, and without what is empty then. */
export function withoutValue(value: unknown, [name = "", ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const items = (value as unknown[]).filter((item) => !isNamed(item, name));
    return items.length === 0 ? undefined : items;
  }
  if (!isObject(value)) return value ?? undefined;
  const inner = rest.length === 0 ? undefined : withoutValue(value[name], rest);
  const kept = Object.entries(value).flatMap(([key, item]) => {
    if (key !== name) return [[key, item]];
    return inner === undefined ? [] : [[key, inner]];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function isNamed(item: unknown, name: string): boolean {
  return isObject(item) && item.name === name;
}

/** An entry to write at a path, or to remove if it is undefined. */
export interface Edit {
  readonly path: KeyPath;
  readonly entry: Readonly<Record<string, unknown>> | undefined;
}

/** Keys of an entry that say how we are reached. What else a person has put there is kept. */
const OURS = new Set([
  ...["type", "command", "cmd", "args", "name"],
  ...["url", "uri", "serverUrl", "httpUrl", "headers", "http_headers", "requestOptions", "token"],
  ...["bearer_token_env_var", "env_vars"],
]);

/**
 * A text with entries written or removed. Everything else in it has to mean the same afterwards, or
 * this throws: no layout of a file is damaged because it was not foreseen.
 */
export function editAll(format: Format, text: string, edits: readonly Edit[]): string {
  return edits.reduce((body, edit) => editedOnce(format, body, edit), text);
}

function editedOnce(format: Format, text: string, { path, entry }: Edit): string {
  const before = format.read(text);
  const present = valueAt(before, path);
  const wanted = entry === undefined ? undefined : merged(present, entry);
  if (isDeepStrictEqual(present, wanted)) return text;
  const after = written(format, text, { path, present, wanted });
  const got = format.read(after);
  const isAsWanted =
    isDeepStrictEqual(valueAt(got, path), wanted) &&
    isDeepStrictEqual(withoutValue(got, path), withoutValue(before, path));
  if (!isAsWanted) throw new Error(`the layout around '${path.join(".")}' is not supported`);
  return after;
}

interface EntryChange {
  readonly path: KeyPath;
  readonly present: unknown;
  readonly wanted: Readonly<Record<string, unknown>> | undefined;
}

function written(format: Format, text: string, { path, present, wanted }: EntryChange): string {
  if (!isObject(present) || wanted === undefined) return format.set(text, path, wanted);
  const keys = new Set([...Object.keys(present), ...Object.keys(wanted)]);
  const changed = [...keys].filter((key) => !isDeepStrictEqual(present[key], wanted[key]));
  return changed.reduce((body, key) => format.set(body, [...path, key], wanted[key]), text);
}

function merged(present: unknown, entry: object): Readonly<Record<string, unknown>> {
  const theirs = isObject(present) ? Object.entries(present).filter(([key]) => !OURS.has(key)) : [];
  return { ...Object.fromEntries(theirs), ...entry };
}

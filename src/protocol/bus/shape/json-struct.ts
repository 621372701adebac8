import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

import { describeProblem } from "../../../base/check.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { MAX_DEPTH } from "../wire-check.ts";

type Path = (string | number)[];

class NotJsonError extends Error {}

/**
 * A value as a Struct can carry it; throws the reason why it cannot. JSON is copied as it is, members
 * named `__proto__` included; members that are undefined are left out, as JSON does.
 *
 * Numbers are doubles, on this side and on the wire: integers beyond 2^53 have lost digits before
 * they come here, whoever read them from text. Send those as text. Half of a surrogate pair, which
 * UTF-8 cannot hold, arrives as U+FFFD.
 */
export function toStruct(value: unknown, what: string): JsonObject {
  const path: Path = [];
  try {
    if (!isPlainObject(value)) throw new NotJsonError("must be an object");
    return clean(value, path) as JsonObject;
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const problem = describeProblem(what, { path, says: error.message });
    throw new TrunklineError("usage", `Cannot send this over the bus: ${problem}`);
  }
}

function clean(value: unknown, path: Path): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw new NotJsonError(`is ${value}, which JSON cannot express`);
    case "object":
      if (value === null) return null;
      if (path.length >= MAX_DEPTH) {
        path.length = 0;
        throw new NotJsonError(`is nested more than ${MAX_DEPTH} levels deep`);
      }
      if (Array.isArray(value)) return cleanList(value, path);
      if (isPlainObject(value)) return cleanObject(value, path);
      throw new NotJsonError("is an object of a class, not a value of JSON");
    case "bigint":
    case "symbol":
    case "function":
    case "undefined":
    default:
      throw new NotJsonError(`is a ${typeof value}, not a value of JSON`);
  }
}

function cleanList(list: readonly unknown[], path: Path): JsonValue[] {
  return Array.from(list, (item, index) => {
    path.push(index);
    const cleaned = item === undefined ? null : clean(item, path);
    path.pop();
    return cleaned;
  });
}

function cleanObject(object: Readonly<Record<string, unknown>>, path: Path): JsonObject {
  const members: [string, JsonValue][] = [];
  for (const [key, member] of Object.entries(object)) {
    if (member === undefined) continue;
    path.push(key);
    members.push([key, clean(member, path)]);
    path.pop();
  }
  // It makes own members of all names, `__proto__` too.
  return Object.fromEntries(members);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * The text of a Struct, its members by name as Orchestra writes them: the members of a Struct have
 * no order of their own. Unlike there, `<`, `>`, `&` and the separators U+2028 and U+2029 are not
 * escaped; it is the same JSON, and it is read by models.
 */
export function structText(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(structText).join(",")}]`;
  const names = Object.keys(value).toSorted(byBytes);
  const members = names.map((name) => `${JSON.stringify(name)}:${structText(value[name] ?? null)}`);
  return `{${members.join(",")}}`;
}

/** By the bytes of UTF-8, which differs from our order only where a surrogate is involved. */
function byBytes(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.from(a).compare(Buffer.from(b));
  return a < b ? -1 : 1;
}

const SURROGATE = /[\ud800-\udfff]/;

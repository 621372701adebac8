// What generated checks call. The generator copies the declarations that a file needs into it, so
// that a protocol folder depends on nothing but the types of rpc/check.ts. One blank line ends each.
import type { Check, Problem } from "../../src/rpc/check.ts";

/** Only own members count, so an object that inherits any is not one. */
export function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same problem, seen from further out. */
export function within(problem: Problem, ...steps: (string | number)[]): Problem {
  problem.path.unshift(...steps);
  return problem;
}

/** Characters as JSON Schema counts them: one above U+FFFF is one, though it takes two units. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    if ((text.charCodeAt(at) & 0xfc00) !== 0xd800) continue;
    if ((text.charCodeAt(at + 1) & 0xfc00) !== 0xdc00) continue;
    count--;
    at++;
  }
  return count;
}

/** A NUL would pass here only to fail in every system call. */
export function isAbsolutePath(text: string): boolean {
  if (text.includes("\0")) return false;
  return text.startsWith("/") || (process.platform === "win32" && WINDOWS_ROOT.test(text));
}

export const WINDOWS_ROOT = /^(?:\\|[A-Za-z]:[\\/])/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUri(text: string): boolean {
  return URI.test(text) && URL.canParse(text);
}

export const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]*$/u;

/** The problem of the alternative that was meant: the one whose required members are there. */
export function closest(value: unknown, alternatives: readonly Alternative[]): Problem {
  let best: Problem = { path: [], says: "is not valid" };
  let bestPresent = -1;
  for (const { required, check } of alternatives) {
    const problem = check(value);
    if (problem === undefined) continue;
    const present = isObject(value)
      ? required.filter((key) => Object.hasOwn(value, key)).length
      : 0;
    if (present < bestPresent) continue;
    if (present === bestPresent && problem.path.length <= best.path.length) continue;
    best = problem;
    bestPresent = present;
  }
  return best;
}

export interface Alternative {
  readonly required: readonly string[];
  readonly check: Check;
}

export function unknownKey(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  return near === undefined ? "is not a known key" : `is not a known key; did you mean '${near}'?`;
}

/** The word that a slip of the finger may have turned into this one. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  let best: string | undefined;
  let bestDistance = word.length <= 3 ? 2 : word.length <= 7 ? 3 : 4;
  for (const candidate of known) {
    const distance = slips(word.toLowerCase(), candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** Letters to add, drop, change or swap with their neighbour. */
export function slips(a: string, b: string): number {
  let older: number[] = [];
  let old = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const [added = 0, dropped = 0, changed = 0] = [row[j - 1], old[j], old[j - 1]];
      const swapped = isSwapped ? (older[j - 2] ?? Infinity) : Infinity;
      row.push(Math.min(added + 1, dropped + 1, changed + (isSame ? 0 : 1), swapped + 1));
    }
    older = old;
    old = row;
  }
  return old[b.length] ?? 0;
}

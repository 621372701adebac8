import { attempt } from "./attempt.ts";
import { suggest } from "./text/suggest.ts";

/** What is wrong with a value, and where. */
export interface Problem {
  /** From the value that was checked down to the one that is wrong. */
  readonly path: (string | number)[];
  /** Completes a sentence that begins with the field's name: "must be a string". */
  readonly says: string;
}

/** Returns the first problem of a value, or undefined if the value is a `T`. */
export interface Check<T = unknown> {
  (value: unknown): Problem | undefined;
  /** Types only; never present. */
  readonly _?: T;
}

/** A problem in words: `'params.cwd' must be an absolute path`. */
export function describeProblem(root: string, problem: Problem): string {
  return `'${withSteps(root, problem.path)}' ${problem.says}`;
}

/** A path as people write it: `server.port`, `mcpServers["my server"].command`. */
export function keyText(path: readonly (string | number)[]): string {
  return withSteps("", path);
}

function withSteps(root: string, path: readonly (string | number)[]): string {
  let name = root;
  for (const step of path) {
    if (typeof step === "number") name += `[${step}]`;
    else if (/^[\w$-]+$/.test(step)) name += name === "" ? step : `.${step}`;
    else name += `[${JSON.stringify(step)}]`;
  }
  return name;
}

/** Parses a text as JSON; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  return attempt((): unknown => JSON.parse(text));
}

/** Parses a text as a JSON object or array; undefined if it is neither. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parsedJson(text);
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)
    : undefined;
}

/**
 * Why a value parsed from JSON cannot be forwarded. `JSON.parse` reads a number that is too large as
 * Infinity, which would be written as null.
 */
export function numberProblem(value: unknown): string | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : "a number is too large: the largest is 1.8e308";
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const member of Object.values(value)) {
    const problem = numberProblem(member);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

// What follows is called by generated checks (scripts/schema).

/** Whether a value is a plain object: checks look at own members only, so instances of classes are refused. */
export function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same problem, with a longer path: from the value around the one that was checked. */
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

const WINDOWS_ROOT = /^(?:\\|[A-Za-z]:[\\/])/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The pattern is made when it is needed: one with properties of Unicode costs a start 0.2 ms. */
export function isUri(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]*$/u.test(text) && URL.canParse(text);
}

/**
 * The problem of the alternative that was probably meant: the one with most of its required members present.
 */
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
  const [near] = suggest(key, known);
  return near === undefined ? "is not a known key" : `is not a known key; did you mean '${near}'?`;
}

import { createContext, Script } from "node:vm";
import { Ajv, type Options, type ValidateFunction, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { attempt } from "../../base/attempt.ts";
import type { ProblemFinder } from "./plain-schema.ts";
import { LinearExpression } from "../../base/text/linear-expression.ts";
import type { JsonSchema } from "../tool.ts";

/** Milliseconds of a check by a schema that may take exponential time. Other schemas need no limit. */
const LONGEST_CHECK = 100;
/** Longer texts are not matched: an expression may block the process on them. */
const LONGEST_MATCHED = 4096;

/**
 * Other people's schemas declare things carelessly, so the compiler is lenient. Whoever runs the server
 * writes them, so nothing of them is copied into the code again and again.
 */
const OPTIONS: Options = {
  strict: false,
  ownProperties: true,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  inlineRefs: false,
  logger: false,
  code: { regExp: Object.assign(boundedExpression, { code: "boundedExpression" }) },
};

/** Accepts everything: the tool checks its arguments itself. */
const unchecked: ProblemFinder = () => undefined;

/**
 * Turns a JSON Schema of draft 7 or 2020-12 into a function. MCP's default is 2020-12. A schema that
 * cannot be read, or is too large, accepts everything. One that may take long is checked with a timeout,
 * and accepts everything once it has exceeded that.
 */
export function compileSchema(schema: JsonSchema): ProblemFinder {
  const cost = schemaCost(schema);
  const validate = cost === "excessive" ? undefined : compile(schema);
  if (validate === undefined) return unchecked;
  const inspect = (value: unknown): Verdict => {
    return { problem: validate(value) ? undefined : complaint(validate.errors ?? []) };
  };
  let isTrusted = true;
  return (value) => {
    if (!isTrusted) return undefined;
    try {
      if (cost === "light") return inspect(value).problem;
      const verdict = runBriefly(LONGEST_CHECK, () => inspect(value));
      isTrusted = verdict !== undefined;
      return verdict?.problem;
    } catch {
      // It refers to itself without end.
      isTrusted = false;
      return undefined;
    }
  };
}

interface Verdict {
  readonly problem: string | undefined;
}

function compile(schema: JsonSchema): ValidateFunction | undefined {
  const { $id: _, $schema: declared, ...plain } = schema;
  const isOld = typeof declared === "string" && /draft-0[4-7]/.test(declared);
  // Many schemas are of an older draft without saying so.
  const drafts = isOld ? [Ajv] : [Ajv2020, Ajv];
  for (const Draft of drafts) {
    try {
      // A compiler of its own for each schema: a compiler keeps what it has compiled, and two schemas may
      // give their parts the same names.
      const ajv = new Draft(OPTIONS);
      ajv.removeKeyword("uniqueItems");
      ajv.addKeyword({
        keyword: "uniqueItems",
        type: "array",
        schemaType: "boolean",
        error: { message: "must not have an item twice" },
        // Takes one pass. Objects with the same members in another order count as different.
        validate: (isWanted: boolean, items: unknown[]) =>
          !isWanted || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
      });
      return ajv.compile(plain);
    } catch {
      // Try the next draft, if there is one.
    }
  }
  return undefined;
}

interface BoundedExpression {
  test(text: string): boolean;
  toString(): string;
}

/** An expression that might block the process matches everything. */
function boundedExpression(source: string, flags: string): BoundedExpression {
  const expression = isTame(source) ? new RegExp(source, flags) : linear(source);
  return {
    test: (text) => text.length > LONGEST_MATCHED || expression.test(text),
    // The compiler identifies expressions by this text.
    toString: () => source,
  };
}

function linear(source: string): Pick<RegExp, "test"> {
  return attempt(() => new LinearExpression(source), { test: () => true });
}

const room = createContext({ work: undefined });
const script = new Script("work()");

/**
 * Runs something synchronous that must not take long, and stops it when it does, even in the middle
 * of a regular expression. Undefined when it was stopped. It costs a thread for a moment, some
 * 200 µs: too much for what cannot take long.
 */
export function runBriefly<T extends object>(milliseconds: number, work: () => T): T | undefined {
  const before = process.threadCpuUsage();
  for (;;) {
    try {
      room.work = work;
      return script.runInContext(room, { timeout: milliseconds }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      const { user, system } = process.threadCpuUsage(before);
      // On a busy machine the time may pass without this thread having had a processor.
      if (user + system >= (milliseconds * 1000) / 2) return undefined;
    } finally {
      room.work = undefined;
    }
  }
}

const MOST_ALTERNATIVES = 3;
const LONGEST_NAME = 200;
const LONGEST_LIST = 500;

/** The problem that a schema has found, in words that name the field: `'text' must be string`. */
export function complaint(errors: readonly ErrorObject[]): string {
  const last = errors.at(-1);
  if (last === undefined) return "do not fit the schema";
  if ((last.keyword !== "anyOf" && last.keyword !== "oneOf") || errors.length === 1) {
    return describe(errors[0] ?? last);
  }
  const alternatives = [...new Set(errors.slice(0, -1).map(describe))];
  return alternatives.slice(0, MOST_ALTERNATIVES).join(", or ");
}

function describe({ instancePath, keyword, message, params }: ErrorObject): string {
  const path = instancePath
    .slice(1)
    .replaceAll("/", ".")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  const told = params as Readonly<Record<string, unknown>>;
  switch (keyword) {
    case "required":
    case "dependentRequired":
    case "dependencies":
      return `${name(path, told.missingProperty)} is missing`;
    case "additionalProperties":
      return `${name(path, told.additionalProperty)} is not known`;
    case "unevaluatedProperties":
      return `${name(path, told.unevaluatedProperty)} is not known`;
    case "false schema":
      return `${name(path)} is not allowed`;
    case "enum":
      return `${name(path)} must be one of: ${list(told.allowedValues)}`;
    case "const":
      return `${name(path)} must be ${list([told.allowedValue])}`;
    default:
      return `${name(path)} ${message ?? "does not fit the schema"}`;
  }
}

function name(path: string, member?: unknown): string {
  const whole = typeof member === "string" ? `${path === "" ? "" : `${path}.`}${member}` : path;
  if (whole === "") return typeof member === "string" ? "''" : "arguments";
  return whole.length > LONGEST_NAME ? `'${whole.slice(0, LONGEST_NAME)}…'` : `'${whole}'`;
}

function list(values: unknown): string {
  if (!Array.isArray(values)) return "what the schema says";
  const words = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const text = words.join(", ");
  return text.length > LONGEST_LIST ? `${text.slice(0, LONGEST_LIST)}…` : text;
}

/** Larger schemas are not compiled: that would cost more than an early error is worth. */
const MOST_NODES = 20_000;
const MOST_DEPTH = 100;
/** Steps along references; a schema that refers to itself has no end. */
const MOST_STEPS = 5_000;

/**
 * What checking by a schema of somebody else may cost. "light" is linear in the arguments.
 * "heavy" may take exponential time on arguments made for it: it refers to itself, or has a regular
 * expression that can go back and forth. "excessive" is too large to be compiled.
 */
export type SchemaCost = "light" | "heavy" | "excessive";

export function schemaCost(schema: JsonSchema): SchemaCost {
  const counted = { nodes: 0, isHeavy: false };
  if (!count(schema, 0, counted)) return "excessive";
  return counted.isHeavy || !endsSoon(schema) ? "heavy" : "light";
}

/** Whether it is small enough. Looks at all there is, since any of it may be a schema. */
function count(
  value: unknown,
  depth: number,
  counted: { nodes: number; isHeavy: boolean },
): boolean {
  if (typeof value !== "object" || value === null) return true;
  counted.nodes++;
  if (counted.nodes > MOST_NODES || depth > MOST_DEPTH) return false;
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    if (key === "pattern" && typeof item === "string") counted.isHeavy ||= !isTame(item);
    if (key === "patternProperties" && typeof item === "object" && item !== null) {
      counted.isHeavy ||= !Object.keys(item).every(isTame);
    }
    counted.nodes += typeof item === "object" ? 0 : 0.1;
    if (!count(item, depth + 1, counted)) return false;
  }
  return true;
}

/**
 * Whether a regular expression of JavaScript compiles fast, and is fast on any text up to the limit. The
 * cost is the number of ways to read a text: a repetition in a repetition has exponentially many, several in a
 * row a power of its length, and each choice in a row doubles them. So there are no repeated groups,
 * no looking around and no references back; few repetitions, one of them being the search for where
 * it begins; and few choices.
 */
export function isTame(source: string): boolean {
  const bare = source.replaceAll(/\\[^1-9kpPu]/g, "x").replaceAll(/\[[^\]]*(?:\]|$)/g, "x");
  if (/\)[*+{]|\(\?[^:]|\\/.test(bare)) return false;
  const choices = bare.match(/[|?(]/g)?.length ?? 0;
  const power = (bare.match(/[*+{]/g)?.length ?? 0) + (bare.startsWith("^") ? 0 : 1);
  return choices === 0 ? power <= 2 : power <= 1 && choices <= 12;
}

/** Whether all references can be followed to their ends: then none leads back to itself. */
function endsSoon(root: JsonSchema): boolean {
  let steps = 0;
  const follow = (value: unknown, depth: number): boolean => {
    if (typeof value !== "object" || value === null) return true;
    if (++steps > MOST_STEPS || depth > 2 * MOST_DEPTH) return false;
    return Object.entries(value).every(([key, item]) => {
      if (key === "$defs" || key === "definitions") return true;
      if (key === "$dynamicRef" || key === "$recursiveRef") return false;
      const next = key === "$ref" && typeof item === "string" ? at(root, item) : item;
      return follow(next, depth + 1);
    });
  };
  return follow(root, 0);
}

/** The target of a reference within a schema. References to other documents cannot be followed. */
function at(root: JsonSchema, reference: string): unknown {
  // An anchor may be anywhere, also around this.
  if (!/^#(?:\/|$)/.test(reference)) return root;
  let value: unknown = root;
  for (const step of reference.slice(2).split("/").filter(Boolean)) {
    if (typeof value !== "object" || value === null) return undefined;
    const key = unescape(step);
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value;
}

/** A step of a JSON Pointer in a URI. */
function unescape(step: string): string {
  const text = /%(?![\da-f]{2})/i.test(step) ? step : decodeURI(step);
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

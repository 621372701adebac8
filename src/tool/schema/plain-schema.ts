import { isObject, numberProblem } from "../../base/check.ts";
import type { Arguments, JsonSchema, Tool } from "../tool.ts";

/** Whether a value is known to fit a schema. False means that it does not, or that the compiler must decide. */
export type ValueTest = (value: unknown) => boolean;

/** Larger schemas are left to the compiler. */
const MOST_NODES = 1000;
const MOST_DEPTH = 20;

/** Keywords that say nothing about a value. Formats are not checked, as in the compiled schema. */
const ANNOTATION =
  /^(?:title|description|default|examples?|deprecated|readOnly|writeOnly|format|\$comment|x-.*)$/;

/**
 * Checks values against schemas of the plain kind that most tools have: types, members, lists, choices
 * and bounds. What it accepts, the compiled schema accepts too; everything else is left to that, also
 * to say what is wrong. So a first call with right arguments need not load the compiler, which takes
 * longer than most calls. Undefined where a schema has any other keyword.
 */
export function plainSchema(whole: JsonSchema): ValueTest | undefined {
  const { $schema: _, $id: __, ...schema } = whole;
  return fitsOf(schema, 0, { nodes: MOST_NODES });
}

function fitsOf(schema: unknown, depth: number, left: { nodes: number }): ValueTest | undefined {
  if (schema === true) return () => true;
  if (!isObject(schema) || depth > MOST_DEPTH || left.nodes-- <= 0) return undefined;
  const checks: ValueTest[] = [];
  const inner: SubschemaCompiler = (part) => fitsOf(part, depth + 1, left);
  const object = objectCheck(schema, inner);
  if (object !== undefined) checks.push(object);
  for (const [keyword, told] of Object.entries(schema)) {
    if (ANNOTATION.test(keyword) || (object !== undefined && OF_OBJECTS.has(keyword))) continue;
    const check = Object.hasOwn(KEYWORDS, keyword)
      ? KEYWORDS[keyword]?.(told, inner, schema)
      : undefined;
    if (check === undefined) return undefined;
    checks.push(check);
  }
  const [only, ...more] = checks;
  if (only === undefined) return () => true;
  return more.length === 0 ? only : (value) => checks.every((fits) => fits(value));
}

/** Keywords that are checked together. Without `type: "object"`, they are left to the compiler. */
const OF_OBJECTS: ReadonlySet<string> = new Set(["type", "properties", "required"]);

/** Undefined where a schema is not for objects, or has a member of a name that every object has. */
function objectCheck(
  { type, properties = {}, required = [] }: JsonSchema,
  inner: SubschemaCompiler,
): ValueTest | undefined {
  if (type !== "object" || !isObject(properties) || !areNames(required)) return undefined;
  const names = [...new Set([...Object.keys(properties), ...required])];
  if (names.some((name) => name in Object.prototype)) return undefined;
  const isRequired = names.map((name) => required.includes(name));
  const checks = names.map((name) =>
    Object.hasOwn(properties, name) ? inner(properties[name]) : ANY,
  );
  if (checks.includes(undefined)) return undefined;
  return (value) => {
    if (!isObject(value)) return false;
    for (let i = 0; i < names.length; i++) {
      const member = value[names[i] as string];
      if (member === undefined ? isRequired[i] : !(checks[i] as ValueTest)(member)) return false;
    }
    return true;
  };
}

const ANY: ValueTest = () => true;

/** Makes a test of a part of a schema; undefined if that is left to the compiler. */
type SubschemaCompiler = (part: unknown) => ValueTest | undefined;

/** The test of each keyword. Keywords for one type accept all values of other types. */
const KEYWORDS: Readonly<
  Record<
    string,
    (told: unknown, inner: SubschemaCompiler, schema: JsonSchema) => ValueTest | undefined
  >
> = {
  type: typeCheck,
  enum: (told) => (Array.isArray(told) ? (value) => told.includes(value) : undefined),
  const: (told) => (isObject(told) || Array.isArray(told) ? undefined : (value) => value === told),
  additionalProperties: additionalCheck,
  items: (told, inner) => {
    const fits = inner(told);
    return fits && ((value) => !Array.isArray(value) || value.every((item) => fits(item)));
  },
  anyOf: (told, inner) => (Array.isArray(told) ? anyOf(told.map(inner)) : undefined),
  minimum: ofNumbers((value, bound) => value >= bound),
  maximum: ofNumbers((value, bound) => value <= bound),
  exclusiveMinimum: ofNumbers((value, bound) => value > bound),
  exclusiveMaximum: ofNumbers((value, bound) => value < bound),
  minItems: ofLists((length, bound) => length >= bound),
  maxItems: ofLists((length, bound) => length <= bound),
  // Code points are counted: at most as many as the text has units, at least half of them.
  minLength: ofTexts((text, bound) => text.length >= 2 * bound || isPlain(text, bound)),
  maxLength: ofTexts((text, bound) => text.length <= bound),
};

type BoundTest<T> = (value: T, bound: number) => boolean;

function ofNumbers(fits: BoundTest<number>): (told: unknown) => ValueTest | undefined {
  return (told) => bounded(told, (bound, value) => typeof value !== "number" || fits(value, bound));
}

function ofLists(fits: BoundTest<number>): (told: unknown) => ValueTest | undefined {
  return (told) =>
    bounded(told, (bound, value) => !Array.isArray(value) || fits(value.length, bound));
}

function ofTexts(fits: BoundTest<string>): (told: unknown) => ValueTest | undefined {
  return (told) => bounded(told, (bound, value) => typeof value !== "string" || fits(value, bound));
}

function bounded(
  told: unknown,
  fits: (bound: number, value: unknown) => boolean,
): ValueTest | undefined {
  return typeof told === "number" ? (value) => fits(told, value) : undefined;
}

const TYPES: Readonly<Record<string, ValueTest>> = {
  string: (value) => typeof value === "string",
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => isObject(value),
};

function typeCheck(told: unknown): ValueTest | undefined {
  if (typeof told === "string") return Object.hasOwn(TYPES, told) ? TYPES[told] : undefined;
  return Array.isArray(told) ? anyOf(told.map(typeCheck)) : undefined;
}

/** Whether one of several is sure to fit; undefined where one of them is unknown. */
function anyOf(checks: readonly (ValueTest | undefined)[]): ValueTest | undefined {
  const known = checks.filter((check) => check !== undefined);
  return known.length < checks.length ? undefined : (value) => known.some((fits) => fits(value));
}

function additionalCheck(
  told: unknown,
  inner: SubschemaCompiler,
  { properties }: JsonSchema,
): ValueTest | undefined {
  const fits = told === false ? () => false : inner(told);
  if (fits === undefined) return undefined;
  const known = new Set(isObject(properties) ? Object.keys(properties) : []);
  return (value) => {
    if (!isObject(value)) return true;
    return Object.keys(value).every((name) => known.has(name) || fits(value[name]));
  };
}

/** Whether a text has at least so many units, none of them half of a code point. */
function isPlain(text: string, length: number): boolean {
  return text.length >= length && !/[\ud800-\udfff]/.test(text);
}

function areNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

/** Returns the problem of a value, or undefined. */
export type ProblemFinder = (value: unknown) => string | undefined;

const plain = new WeakMap<JsonSchema, ValueTest>();
const compiled = new WeakMap<JsonSchema, ProblemFinder>();

/**
 * The problem of a call's arguments by the tool's own schema: `'text' must be string`. A schema is compiled
 * when arguments first fail the plain test; the compiler is loaded for the first such schema.
 */
export function argumentProblem(
  tool: Pick<Tool, "definition">,
  args: Arguments,
): string | undefined | Promise<string | undefined> {
  const huge = numberProblem(args);
  if (huge !== undefined) return huge;
  const { inputSchema } = tool.definition;
  // Tools of other servers come as JSON: the schema may be missing or no object.
  if (typeof inputSchema !== "object" || inputSchema === null) return undefined;
  const isPlain = plain.getOrInsertComputed(
    inputSchema,
    (schema) => plainSchema(schema) ?? (() => false),
  );
  if (isPlain(args)) return undefined;
  const inspect = compiled.get(inputSchema);
  return inspect === undefined ? inspectCompiled(inputSchema, args) : inspect(args);
}

async function inspectCompiled(schema: JsonSchema, args: Arguments): Promise<string | undefined> {
  const { compileSchema } = await import("./compile-schema.ts");
  const inspect = compileSchema(schema);
  compiled.set(schema, inspect);
  return inspect(args);
}

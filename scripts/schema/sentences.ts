import { type Scalar, type Schema, type Schemas, namedTypes, target } from "./schema.ts";

const WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  "absolute-path": "an absolute path",
  uuid: "a UUID",
  uri: "a URI",
};

/** Patterns that many fields have. One that only some field has is described there, by `x-form`. */
const PATTERN_WORDS: Readonly<Record<string, string>> = {
  "^https?://": "must begin with http:// or https://",
  "^https://": "must begin with https://",
  "^(nats|tls)://": "must begin with nats:// or tls://",
  "^(?:/|~/|[A-Za-z]:[\\\\/])": "must be an absolute path, or begin with ~/",
  "^/[^*]*$": "must be an absolute path without *",
  "^[A-Za-z_][A-Za-z0-9_]*$": "must be the name of an environment variable",
};

/** Endings of a sentence that begins with a field's name. */
export const sentences = {
  missing: "is missing",
  types: (types: readonly string[]): string => mustBe(types.map((type) => WORDS[type] ?? type)),
  listed: (values: readonly Scalar[]): string => {
    const [only] = values;
    if (values.length === 1) return `must be ${JSON.stringify(only)}`;
    const words = values.map((value) =>
      typeof value === "string" ? value : JSON.stringify(value),
    );
    return `must be one of: ${words.join(", ")}`;
  },
  format: (format: string): string => `must be ${FORMAT_WORDS[format] ?? format}`,
  pattern: (pattern: string, form?: string): string =>
    form === undefined
      ? (PATTERN_WORDS[pattern] ?? `must match the pattern ${pattern}`)
      : `must be ${form}`,
  minimum: (limit: number): string => `must be at least ${limit}`,
  maximum: (limit: number): string => `must be at most ${limit}`,
  minLength: (limit: number): string =>
    limit === 1 ? "must not be empty" : `must be at least ${limit} characters long`,
  maxLength: (limit: number): string =>
    `must be at most ${limit} ${plural(limit, "character")} long`,
  minItems: (limit: number): string =>
    limit === 1 ? "must not be empty" : `must have at least ${limit} items`,
  maxItems: (limit: number): string => `must have at most ${limit} ${plural(limit, "item")}`,
};

/** The types that alternatives accept, for a value that is none of them. */
export function typesOf(alternatives: readonly Schema[], all: Schemas): readonly string[] {
  const types = alternatives.flatMap((alternative): readonly string[] => {
    const schema = target(alternative, all);
    const named = namedTypes(schema);
    if (named.length > 0) return named;
    if (schema.const !== undefined) return [JSON.stringify(schema.const)];
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value));
    if (schema.oneOf !== undefined) return ["object"];
    return typesOf(schema.anyOf ?? [], all);
  });
  return [...new Set(types)];
}

function mustBe(words: readonly string[]): string {
  if (words.length === 0) return "is not valid";
  if (words.length < 3) return `must be ${words.join(" or ")}`;
  return `must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function plural(count: number, word: string): string {
  return count === 1 ? word : `${word}s`;
}

/** JSON types. "integer" is a number without a fraction. */
export type TypeName = "string" | "number" | "integer" | "boolean" | "object" | "array" | "null";

export type Scalar = string | number | boolean | null;

export type Format = "absolute-path" | "uuid" | "uri";

/** The part of JSON Schema that compiles. Objects are open unless they say otherwise. */
export interface Schema {
  readonly type?: TypeName | readonly TypeName[];
  readonly properties?: Schemas;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | Schema;
  readonly items?: Schema;
  readonly enum?: readonly Scalar[];
  readonly const?: Scalar;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  /** Description of the pattern that completes "must be …". */
  readonly "x-form"?: string;
  readonly format?: Format;
  readonly anyOf?: readonly Schema[];
  /** Distinguished by one member that is a different constant in each. */
  readonly oneOf?: readonly Schema[];
  /** Another schema of the same file: "#Name". */
  readonly $ref?: string;
  readonly description?: string;
  /** For the documentation; checks do not set defaults. */
  readonly default?: unknown;
  readonly [annotation: `x-${string}`]: unknown;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** The types that a schema names itself. */
export function namedTypes(schema: Schema): readonly TypeName[] {
  if (schema.type === undefined) return [];
  return typeof schema.type === "string" ? [schema.type] : schema.type;
}

/** The values that a schema lists, if it does. */
export function listedValues(schema: Schema): readonly Scalar[] | undefined {
  return schema.const === undefined ? schema.enum : [schema.const];
}

/** The schema that a reference stands for. */
export function target(schema: Schema, all: Schemas): Schema {
  const seen = new Set<Schema>();
  let at = schema;
  while (at.$ref !== undefined && !seen.has(at)) {
    seen.add(at);
    at = all[at.$ref.slice(1)] ?? {};
  }
  return at;
}

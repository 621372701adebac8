import { type Schema, type Schemas, type TypeName, listedValues, namedTypes } from "./schema.ts";

const TYPES: ReadonlySet<string> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null",
]);

const FORMATS: ReadonlySet<unknown> = new Set(["absolute-path", "uuid", "uri"]);

/** Keywords that apply to one type only, which has to be named beside them. */
const TYPE_OF: Readonly<Record<string, TypeName>> = {
  properties: "object",
  required: "object",
  additionalProperties: "object",
  items: "array",
  minItems: "array",
  maxItems: "array",
  minLength: "string",
  maxLength: "string",
  pattern: "string",
  format: "string",
  minimum: "number",
  maximum: "number",
};

const OTHERS: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "const",
  "anyOf",
  "oneOf",
  "$ref",
  "description",
  "default",
]);

const TAKEN: ReadonlySet<string> = new Set(["Alternative", "Check", "Problem", "Record"]);

/**
 * Checks the schemas of a file before they are compiled. An unsupported keyword must be an error: its
 * author would believe that it is checked.
 */
export function inspect(schemas: unknown): Schemas {
  if (!isRecord(schemas)) throw new Error("Cannot compile: 'schemas' must be an object");
  for (const [name, schema] of Object.entries(schemas)) {
    if (!/^[A-Z][A-Za-z0-9]*$/.test(name)) fail(name, [], "its name must be in PascalCase");
    if (TAKEN.has(name)) fail(name, [], "generated code uses this name itself");
    inspectSchema(schema, name, [], schemas);
  }
  return schemas as Schemas;
}

function inspectSchema(schema: unknown, name: string, at: readonly string[], all: object): void {
  if (!isRecord(schema)) fail(name, at, "a schema must be an object");
  for (const keyword of Object.keys(schema)) {
    if (keyword.startsWith("x-")) continue;
    const type = TYPE_OF[keyword];
    if (type === undefined && !OTHERS.has(keyword)) {
      fail(name, at, `keyword '${keyword}' is not supported`);
    }
    if (type !== undefined && !hasType(schema, type)) {
      fail(name, at, `keyword '${keyword}' needs type '${type}' beside it`);
    }
  }
  inspectKeywords(schema, name, at, all);
  for (const [step, part] of parts(schema)) {
    inspectSchema(part, name, [...at, ...step], all);
  }
}

function inspectKeywords(schema: Schema, name: string, at: readonly string[], all: object): void {
  for (const type of namedTypes(schema)) {
    if (!TYPES.has(type)) fail(name, at, `keyword 'type' does not know '${type}'`);
  }
  if (schema.$ref !== undefined && !Object.hasOwn(all, schema.$ref.replace(/^#/, ""))) {
    fail(name, at, `keyword '$ref' must name a schema of this file, not '${schema.$ref}'`);
  }
  if (schema.format !== undefined && !FORMATS.has(schema.format)) {
    fail(name, at, `keyword 'format' does not know '${schema.format}'`);
  }
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, "__proto__")) {
    fail(name, at, "keyword 'properties' cannot have '__proto__'");
  }
  for (const keyword of ["enum", "anyOf", "oneOf"] as const) {
    const list = schema[keyword];
    if (list !== undefined && (!Array.isArray(list) || list.length === 0)) {
      fail(name, at, `keyword '${keyword}' must be a list that is not empty`);
    }
  }
  const types = namedTypes(schema);
  for (const value of listedValues(schema) ?? []) {
    const type = value === null ? "null" : typeof value;
    if (type === "object") fail(name, at, "keywords 'enum' and 'const' take no objects or lists");
    if (types.length > 0 && !types.includes(type as TypeName) && !isListedInteger(value, types)) {
      fail(name, at, `keyword 'type' contradicts the listed value ${JSON.stringify(value)}`);
    }
  }
}

/** Every schema directly inside another, with its path. */
export function* parts(schema: Schema): Generator<[at: readonly string[], part: unknown]> {
  for (const [key, part] of Object.entries(schema.properties ?? {}))
    yield [["properties", key], part];
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) {
    yield [["additionalProperties"], schema.additionalProperties];
  }
  if (schema.items !== undefined) yield [["items"], schema.items];
  for (const keyword of ["anyOf", "oneOf"] as const) {
    for (const [index, part] of (schema[keyword] ?? []).entries()) {
      yield [[keyword, String(index)], part];
    }
  }
}

function hasType(schema: Schema, type: TypeName): boolean {
  const types = namedTypes(schema);
  return types.includes(type) || (type === "number" && types.includes("integer"));
}

function isListedInteger(value: unknown, types: readonly TypeName[]): boolean {
  return Number.isInteger(value) && types.includes("integer");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fail(name: string, at: readonly string[], why: string): never {
  const place = at.length === 0 ? "" : ` at '${at.join(".")}'`;
  throw new Error(`Cannot compile schema '${name}'${place}: ${why}`);
}

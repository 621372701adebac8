import type { PathKind, Setting as Schema } from "../../src/base/capability/settings.ts";
import { schemas } from "../../src/config/schema/schema.ts";

const ROOT = schemas.ConfigFile;
const SCALARS = ["string", "integer", "number", "boolean"] as const;

/** A single value that has its place in every configuration, and so a variable of its own. */
interface SingleSetting {
  readonly path: readonly string[];
  readonly type: (typeof SCALARS)[number];
  readonly variable: string;
}

/** `limits.maxMessage` → `TRUNKLINE_LIMITS_MAX_MESSAGE`; that of `agent.name` is `TRUNKLINE_AGENT`. */
function variableOf(path: readonly string[]): string {
  const named = path.join(".") === "agent.name" ? ["agent"] : path;
  const words = named.map((step) => step.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
  return `TRUNKLINE_${words.join("_").toUpperCase()}`;
}

export function singleSettings(): SingleSetting[] {
  return [...settingsOf(ROOT, [])];
}

function* settingsOf(schema: Schema, path: readonly string[]): Generator<SingleSetting> {
  for (const [key, unresolved] of Object.entries(schema.properties ?? {})) {
    const here = [...path, key];
    const property = settingOf(unresolved);
    const type = property.enum === undefined ? property.type : "string";
    if (type === "object") yield* settingsOf(property, here);
    const scalar = SCALARS.find((one) => one === type);
    if (scalar !== undefined && key !== "$schema") {
      yield { path: here, type: scalar, variable: variableOf(here) };
    }
  }
}

/** What is said of projects: of a key, or of a group and then of all keys in it. */
export function* projectKeys(
  schema: Schema = ROOT,
  path: readonly string[] = [],
): Generator<[path: readonly string[], isOpen: boolean]> {
  for (const [key, unresolved] of Object.entries(schema.properties ?? {})) {
    const property = settingOf(unresolved);
    const isOpen = property["x-project"];
    if (isOpen === undefined) yield* projectKeys(property, [...path, key]);
    else yield [[...path, key], isOpen];
  }
}

/** The schema of a key: references are followed, and a group may be given by a name alone. */
export function settingOf(schema: Schema): Schema {
  return groupOf(resolve(schema));
}

function groupOf(schema: Schema): Schema {
  const { anyOf = [], ...own } = schema;
  const group = anyOf.map(resolve).find(({ properties }) => properties !== undefined);
  return anyOf.some(({ type }) => type === "string") && group ? { ...own, ...group } : schema;
}

/** The schema that a reference stands for; what stands beside the reference is nearer. */
function resolve(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...own } = schema;
  return { ...resolve(schemas[$ref.slice(1)] ?? {}), ...own };
}

/** A key as the documentation lists it. */
interface DocumentedKey {
  readonly path: string;
  readonly type: string;
  readonly fallback: string | undefined;
  readonly variable: string | undefined;
  readonly description: string;
}

/** Every key, maps and lists included, in the schema's order. */
export function configKeys(): DocumentedKey[] {
  const all = [...keysOf(ROOT, "")].filter(({ path }) => path !== "$schema");
  // Several forms of a value have some keys in common: those are told of once.
  const keys = new Map(all.map((key) => [JSON.stringify(key), key])).values().toArray();
  const variables = new Map(
    singleSettings().map(({ path, variable }) => [path.join("."), variable]),
  );
  return keys.map((key) => ({ ...key, variable: variables.get(key.path) }));
}

function* keysOf(schema: Schema, prefix: string): Generator<Omit<DocumentedKey, "variable">> {
  for (const [key, unresolved] of Object.entries(schema.properties ?? {})) {
    const property = settingOf(unresolved);
    const path = prefix === "" ? key : `${prefix}.${key}`;
    const isGroup = property.type === "object" && property.properties !== undefined;
    if (!isGroup) yield { path, ...describe(property) };
    yield* keysBelow(property, path);
  }
}

function* keysBelow(schema: Schema, path: string): Generator<Omit<DocumentedKey, "variable">> {
  if (schema.anyOf !== undefined) {
    for (const part of schema.anyOf) yield* keysBelow(resolve(part), path);
    return;
  }
  yield* keysOf(schema, path);
  if (schema.items !== undefined) yield* keysBelow(resolve(schema.items), `${path}[]`);
  if (schema.additionalProperties) {
    yield* keysBelow(resolve(schema.additionalProperties), `${path}.NAME`);
  }
}

function describe(schema: Schema): Omit<DocumentedKey, "path" | "variable"> {
  const fallback = schema.default === undefined ? undefined : JSON.stringify(schema.default);
  return { type: typeWords(schema), fallback, description: schema.description ?? "" };
}

function typeWords(schema: Schema): string {
  const { type = "object", minimum, maximum } = schema;
  if (schema.enum !== undefined)
    return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (type === "array") return `list of ${typeWords(resolve(schema.items ?? {}))}s`;
  if (type === "object" && schema.additionalProperties) {
    const values = typeWords(resolve(schema.additionalProperties));
    return values.startsWith("list ") ? `lists${values.slice(4)} by name` : `${values}s by name`;
  }
  if (minimum === undefined) return type;
  return maximum === undefined
    ? `${type} from ${minimum}`
    : `${type} from ${minimum} to ${maximum}`;
}

/** Where paths stand in a file; `*` for any name or place in a list. */
export function pathKeys(): [path: string[], kind: PathKind][] {
  const found = [...pathsIn(ROOT, [])].map((one) => [JSON.stringify(one), one] as const);
  return new Map(found).values().toArray();
}

function* pathsIn(unresolved: Schema, path: string[]): Generator<[string[], PathKind]> {
  const {
    properties = {},
    items,
    additionalProperties,
    anyOf = [],
    ...schema
  } = resolve(unresolved);
  if (schema["x-path"] !== undefined) yield [path, schema["x-path"]];
  for (const [key, property] of Object.entries(properties))
    yield* pathsIn(property, [...path, key]);
  for (const form of anyOf) yield* pathsIn(form, path);
  for (const each of [items, additionalProperties]) if (each) yield* pathsIn(each, [...path, "*"]);
}

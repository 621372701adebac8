import type { PathKind, Setting as Schema } from "../../src/base/capability/settings.ts";
import { resolve, ROOT, settingOf, settings } from "../../src/config/schema/keys.ts";

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
  const variables = new Map(settings().map(({ path, variable }) => [path.join("."), variable]));
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

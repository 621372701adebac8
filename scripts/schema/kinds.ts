import {
  type Schema,
  type Schemas,
  type TypeName,
  listedValues,
  namedTypes,
  target,
} from "./schema.ts";

/** The kinds of value that can be distinguished without reading their content. */
export type Kind = Exclude<TypeName, "integer">;

export const KINDS: readonly Kind[] = ["string", "number", "boolean", "null", "array", "object"];

/** The kinds that a schema can accept at all. */
export function kindsOf(
  schema: Schema,
  all: Schemas,
  seen: ReadonlySet<Schema> = new Set(),
): readonly Kind[] {
  if (seen.has(schema)) return KINDS;
  const inner = new Set([...seen, schema]);
  const bounds: (readonly Kind[])[] = [];
  const types = namedTypes(schema);
  if (types.length > 0) bounds.push(types.map((type) => (type === "integer" ? "number" : type)));
  const listed = listedValues(schema);
  if (listed !== undefined) {
    bounds.push(listed.map((value) => (value === null ? "null" : (typeof value as Kind))));
  }
  if (schema.$ref !== undefined) bounds.push(kindsOf(target(schema, all), all, inner));
  for (const alternatives of [schema.anyOf, schema.oneOf]) {
    if (alternatives === undefined) continue;
    bounds.push(alternatives.flatMap((alternative) => kindsOf(alternative, all, inner)));
  }
  return KINDS.filter((kind) => bounds.every((bound) => bound.includes(kind)));
}

/**
 * The member that distinguishes alternatives: required in each, with a constant that no other has.
 */
export function findTag(alternatives: readonly Schema[], all: Schemas): string | undefined {
  const objects = alternatives.map((alternative) => target(alternative, all));
  if (objects.some((object) => object.type !== "object")) return undefined;
  return Object.keys(objects[0]?.properties ?? {}).find((key) => {
    if (!objects.every((object) => object.required?.includes(key))) return false;
    const tags = objects.map((object) => object.properties?.[key]?.const);
    return !tags.includes(undefined) && new Set(tags).size === tags.length;
  });
}

/** The members that a value must have to match an alternative. */
export function requiredOf(schema: Schema, all: Schemas): readonly string[] {
  return target(schema, all).required ?? [];
}

/** Whether a schema accepts every value. */
export function isAnything(schema: Schema): boolean {
  return Object.keys(schema).every((keyword) => isAnnotation(keyword));
}

/** Whether a schema only refers to another. */
export function isPlainReference(schema: Schema): boolean {
  return Object.keys(schema).every((keyword) => keyword === "$ref" || isAnnotation(keyword));
}

/** Whether a schema only lists the values it accepts. */
export function isOnlyList(schema: Schema): boolean {
  return Object.keys(schema).every((keyword) => {
    return ["type", "const", "enum"].includes(keyword) || isAnnotation(keyword);
  });
}

function isAnnotation(keyword: string): boolean {
  return keyword === "description" || keyword === "default" || keyword.startsWith("x-");
}

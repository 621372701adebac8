import type { JsonObject } from "../../src/protocol/mcp/json-object.ts";
import { isObject } from "../../src/base/check.ts";

type Definitions = Readonly<Record<string, JsonObject>>;

const PREFIX = "#/$defs/";
const TEXTS: Readonly<Record<string, (count: number) => string>> = {
  uri: (count) => `x://sample/${count}`,
  "uri-template": (count) => `x://template/${count}/{id}`,
  byte: (count) => Buffer.from(`bytes ${count}`).toString("base64"),
};

/**
 * Samples of what a schema allows: together they have every member of every object, and every
 * alternative. No two texts in them are the same.
 */
export class WireSamples {
  /** The members that are in some sample, as `Definition.member`. */
  readonly visited = new Set<string>();
  readonly #definitions: Definitions;
  #count = 0;

  constructor(definitions: Definitions) {
    this.#definitions = definitions;
  }

  of(name: string): JsonObject[] {
    return this.#named(name, []) as JsonObject[];
  }

  #named(name: string, inside: readonly string[]): unknown[] {
    const definition = this.#definitions[name];
    if (definition === undefined) throw new Error(`The schema has no '${name}'`);
    return this.#all(definition, name, [...inside, name]);
  }

  #all(schema: unknown, name: string, inside: readonly string[]): unknown[] {
    if (!isObject(schema)) return [{ anything: this.#next() }];
    const { $ref: ref, anyOf, const: only, enum: choices, type } = schema;
    if (typeof ref === "string") {
      const target = ref.slice(PREFIX.length);
      // A message may hold others of its kind: one level of them shows all.
      return inside.includes(target) ? [] : this.#named(target, inside);
    }
    if (Array.isArray(anyOf)) return anyOf.flatMap((each) => this.#all(each, name, inside));
    if (only !== undefined) return [only];
    if (Array.isArray(choices)) return choices;
    const types: readonly unknown[] = Array.isArray(type) ? type : [type];
    return types.flatMap((each) => this.#typed(each, schema, name, inside));
  }

  #typed(type: unknown, schema: JsonObject, name: string, inside: readonly string[]): unknown[] {
    switch (type) {
      case "string":
        // A time, as its description says.
        if (name.endsWith(".lastModified")) return ["2026-11-18T12:00:00Z"];
        return [(TEXTS[String(schema.format)] ?? ((count) => `text-${count}`))(this.#next())];
      case "integer":
      case "number":
        return [typeof schema.maximum === "number" ? schema.maximum : this.#next()];
      case "boolean":
        return [true];
      case "array":
        return [this.#all(schema.items, name, inside)];
      default:
        return this.#objects(schema, name, inside);
    }
  }

  #objects(schema: JsonObject, name: string, inside: readonly string[]): unknown[] {
    const { properties, additionalProperties: more } = schema;
    const members = Object.entries(isObject(properties) ? properties : {}).map(([key, member]) => {
      this.visited.add(`${name}.${key}`);
      return [key, this.#all(member, `${name}.${key}`, inside)] as const;
    });
    if (more !== undefined || properties === undefined) {
      const other = isObject(more) && Object.keys(more).length > 0 ? more : undefined;
      const values = this.#all(other, `${name}.*`, inside);
      for (const [at, value] of values.entries()) members.push([`other-${at}`, [value]]);
    }
    const most = Math.max(1, ...members.map(([, values]) => values.length));
    return Array.from({ length: most }, (_, at) => {
      const full = members.filter(([, values]) => values.length > 0);
      return Object.fromEntries(full.map(([key, values]) => [key, values[at % values.length]]));
    });
  }

  #next(): number {
    return ++this.#count;
  }
}

/** Every member of the definitions, as `Definition.member`. */
export function membersOf(definitions: Definitions): string[] {
  return Object.entries(definitions).flatMap(([name, schema]) => membersIn(schema, name));
}

function membersIn(schema: unknown, name: string): string[] {
  if (!isObject(schema)) return [];
  const { properties, items, additionalProperties, anyOf } = schema;
  const members = Object.entries(isObject(properties) ? properties : {});
  return [
    ...members.flatMap(([key, member]) => [
      `${name}.${key}`,
      ...membersIn(member, `${name}.${key}`),
    ]),
    ...membersIn(items, name),
    ...membersIn(additionalProperties, `${name}.*`),
    ...(Array.isArray(anyOf) ? anyOf.flatMap((each) => membersIn(each, name)) : []),
  ];
}

/** Where two values differ; a `+` stands before what only the second has. Lists have no numbers. */
export function differences(sent: unknown, got: unknown, path: string): string[] {
  if (Array.isArray(sent) && Array.isArray(got)) {
    const length = Math.max(sent.length, got.length);
    const all = Array.from({ length }, (_, at) => differences(sent[at], got[at], `${path}[]`));
    return [...new Set(all.flat())];
  }
  if (isObject(sent) && isObject(got)) {
    const keys = new Set([...Object.keys(sent), ...Object.keys(got)]);
    return [...keys].flatMap((key) => differences(sent[key], got[key], `${path}.${key}`));
  }
  if (sent === got) return [];
  return [sent === undefined ? `+${path}` : path];
}

import { isObject, type Json, type OpenApiDocument } from "./document.ts";

/** What says nothing about which values are right, and only costs a model's context. */
const DROPPED: ReadonlySet<string> = new Set([
  ...[
    "example",
    "examples",
    "xml",
    "externalDocs",
    "discriminator",
    "deprecated",
    "$id",
    "$schema",
  ],
  ...["$anchor", "$dynamicAnchor", "$comment", "readOnly", "writeOnly", "nullable"],
]);
/** Keywords whose members are schemas. */
const MAPS: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"],
]);
/** Keywords whose value is data, in which nothing is a schema. */
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "required", "type"]);

/**
 * Schemas of an operation as JSON Schema, with what they refer to as `$defs`. References stay: with
 * their targets in their place, a document of 140 KB becomes one of 78 MB, or has no end.
 */
export class SchemaClosure {
  readonly #document: OpenApiDocument;
  readonly #names = new Map<string, string>();
  readonly #defs = new Map<string, unknown>();
  /** By a name, the number from which on one may be free: thousands may have the same name. */
  readonly #counts = new Map<string, number>();
  /** Definitions that are named and not converted yet. Converting each at once would nest without end. */
  readonly #waiting: { readonly name: string; readonly target: unknown }[] = [];

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** The definitions that all converted schemas refer to. */
  get defs(): Json {
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      this.#defs.set(next.name, this.convert(next.target));
    }
    return Object.fromEntries(this.#defs);
  }

  /** A schema of a request: what only responses have is left out. */
  convert(schema: unknown): unknown {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema)) return {};
    const { $ref: ref } = schema;
    const converted: Record<string, unknown> = {};
    const hidden = this.#responseOnly(schema);
    for (const [key, value] of Object.entries(schema)) {
      if (DROPPED.has(key) || key.startsWith("x-")) continue;
      if (key === "$ref" && typeof value === "string") converted.$ref = this.#refer(value);
      // Beside a reference, 3.0 ignores everything.
      else if (typeof ref === "string" && this.#document.isOld) continue;
      else if (key === "required" && Array.isArray(value)) {
        const required = value.filter((name) => typeof name === "string" && !hidden.has(name));
        if (required.length > 0) converted.required = required;
      } else if (MAPS.has(key) && isObject(value)) {
        const members = Object.entries(value).filter(
          ([name]) => key !== "properties" || !hidden.has(name),
        );
        converted[key] = Object.fromEntries(
          members.map(([name, member]) => [name, this.convert(member)]),
        );
      } else if (DATA.has(key)) converted[key] = value;
      else if (Array.isArray(value)) {
        converted[key] = value.map((item: unknown) => (isObject(item) ? this.convert(item) : item));
      } else converted[key] = isObject(value) ? this.convert(value) : value;
    }
    return modernised(schema, converted);
  }

  /** The definition of a reference's target. */
  #refer(ref: string): string {
    const known = this.#names.get(ref);
    if (known !== undefined) return `#/$defs/${known}`;
    const target = this.#document.target(ref);
    const name = this.#nameFor(ref);
    this.#names.set(ref, name);
    this.#defs.set(name, {});
    this.#waiting.push({ name, target });
    return `#/$defs/${name}`;
  }

  #nameFor(ref: string): string {
    const last = ref.split("/").at(-1) ?? "";
    const base = last.replace(/[^\w.-]/g, "_") || "schema";
    let name = base;
    let count = this.#counts.get(base) ?? 2;
    for (; this.#defs.has(name); count++) name = `${base}_${count}`;
    this.#counts.set(base, count);
    return name;
  }

  #responseOnly({ properties }: Json): ReadonlySet<string> {
    if (!isObject(properties)) return new Set();
    const names = Object.entries(properties).filter(([, member]) => {
      return isObject(member) && member.readOnly === true;
    });
    return new Set(names.map(([name]) => name));
  }
}

/**
 * OpenAPI 3.0 has `nullable`, and booleans for exclusive bounds; documents of 3.1 have them by mistake. A
 * pattern that is no regular expression would make clients refuse the tool.
 */
function modernised(schema: Json, converted: Record<string, unknown>): Record<string, unknown> {
  for (const [exclusive, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof schema[exclusive] !== "boolean") continue;
    delete converted[exclusive];
    if (!schema[exclusive] || schema[bound] === undefined) continue;
    converted[exclusive] = schema[bound];
    delete converted[bound];
  }
  if (typeof converted.pattern === "string" && !isPattern(converted.pattern)) {
    delete converted.pattern;
  }
  if (schema.nullable !== true) return converted;
  if (Array.isArray(converted.enum) && !converted.enum.includes(null)) {
    converted.enum = [...(converted.enum as unknown[]), null];
  }
  if (typeof converted.type === "string") return { ...converted, type: [converted.type, "null"] };
  return { anyOf: [converted, { type: "null" }] };
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

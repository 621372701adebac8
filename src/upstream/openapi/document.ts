import { attempt } from "../../base/attempt.ts";
import { isObject } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import { FreeNames } from "../../tool/offer/names.ts";

export type Json = Readonly<Record<string, unknown>>;

/** References that lead from one to the next. */
const MOST_STEPS = 20;
/** Levels in which a document may be nested, as those of a message. YAML may also have something in itself. */
const MOST_LEVELS = DEFAULT_LIMITS.maxDepth;

/** An OpenAPI document of 3.0 or 3.1, and what its references lead to. */
export class OpenApiDocument {
  readonly value: Json;
  /** JSON Schema as 3.0 has it, which differs from the standard. */
  readonly isOld: boolean;

  constructor(value: unknown) {
    if (!isObject(value)) throw refused("is not an object");
    if (isDeeper(value, MOST_LEVELS)) throw refused(`is nested deeper than ${MOST_LEVELS} levels`);
    const { openapi, swagger, paths } = value;
    if (swagger !== undefined) {
      const next = "Convert it to OpenAPI 3, such as with `npx swagger2openapi FILE`";
      throw refused(`is of Swagger ${textOf(swagger) ?? "2"}. ${next}`);
    }
    if (typeof openapi !== "string" || !/^3\.[012]\b/.test(openapi)) {
      throw refused("does not say that it is of OpenAPI 3 ('openapi')");
    }
    if (paths !== undefined && !isObject(paths))
      throw refused("has 'paths' that are not an object");
    this.value = value;
    this.isOld = openapi.startsWith("3.0");
  }

  /** The target of a reference, or the value itself if it is not one. */
  resolve(value: unknown): Json {
    let at = value;
    for (let step = 0; step < MOST_STEPS; step++) {
      if (!isObject(at)) return {};
      if (typeof at.$ref !== "string") return at;
      at = this.target(at.$ref);
    }
    throw refused(`has references that lead to themselves ('${refOf(value)}')`);
  }

  /** The part of the document that a reference names. */
  target(ref: string): unknown {
    if (ref !== "#" && !ref.startsWith("#/")) {
      // Reading it could open a file of this machine, or an address inside its network.
      const next = "Bundle it into one file first, such as with `npx @redocly/cli bundle`";
      throw refused(`refers to '${ref}', outside of itself. ${next}`);
    }
    let at: unknown = this.value;
    for (const step of ref.split("/").slice(1)) {
      const key = attempt(() => decodeURIComponent(step), step)
        .replaceAll("~1", "/")
        .replaceAll("~0", "~");
      at =
        (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, key)
          ? (at as Json)[key]
          : undefined;
    }
    if (at === undefined) throw refused(`refers to '${ref}', which it does not have`);
    return at;
  }
}

/** Whether a value is nested in more levels. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeper(member, levels - 1));
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text, or nothing. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** Completes "Its OpenAPI document …". */
export function refused(why: string): TrunklineError {
  return new TrunklineError("config", `Its OpenAPI document ${why}`);
}

function refOf(value: unknown): string {
  return isObject(value) ? String(value.$ref) : "";
}

/** Keywords that do not restrict values and would only fill a model's context. */
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
  readonly #free = new FreeNames();
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
    const last = ref.split("/").at(-1) ?? "";
    const name = this.#free.take(last.replace(/[^\w.-]/g, "_") || "schema");
    this.#names.set(ref, name);
    this.#defs.set(name, {});
    this.#waiting.push({ name, target });
    return `#/$defs/${name}`;
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
  const { pattern } = converted;
  if (typeof pattern === "string" && attempt(() => new RegExp(pattern, "u")) === undefined) {
    delete converted.pattern;
  }
  if (schema.nullable !== true) return converted;
  if (Array.isArray(converted.enum) && !converted.enum.includes(null)) {
    converted.enum = [...(converted.enum as unknown[]), null];
  }
  if (typeof converted.type === "string") return { ...converted, type: [converted.type, "null"] };
  return { anyOf: [converted, { type: "null" }] };
}

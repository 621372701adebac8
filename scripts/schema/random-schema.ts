import type { Scalar, Schema, Schemas, TypeName } from "./schema.ts";

const KEYS = ["a", "b", "long-name", "constructor", "type", "__proto__x"];
const TEXTS = ["", "a", "b", "abc", "😀", "/a", "x:y", "0b9e6a3c-1111-4222-8333-444455556666"];
const NUMBERS = [-1, 0, 1, 1.5, 2, 10, 1e21];
const SCALARS: readonly Scalar[] = [...TEXTS, ...NUMBERS, true, false, null];
const TYPES: readonly TypeName[] = [
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null",
];

/** Generates random schemas and values, the same for the same seed. */
export class RandomSchema {
  #state: number;
  #names: readonly string[] = [];

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Schemas that refer to each other. */
  schemas(count: number): Schemas {
    const names = Array.from({ length: count }, (_, i) => `S${i}`);
    this.#names = names;
    return Object.fromEntries(names.map((name, i) => [name, this.#schema(3, names.slice(0, i))]));
  }

  /** A value that often matches a schema, and often almost does. */
  value(schema: Schema, all: Schemas, depth = 0): unknown {
    if (depth > 6 || this.#chance(0.08)) return this.#anyValue(2);
    if (schema.$ref !== undefined)
      return this.value(all[schema.$ref.slice(1)] ?? {}, all, depth + 1);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return this.#pick(schema.enum);
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (alternatives !== undefined) return this.value(this.#pick(alternatives), all, depth + 1);
    const type = typeof schema.type === "string" ? schema.type : this.#pick(schema.type ?? TYPES);
    if (type === "object") return this.#object(schema, all, depth);
    if (type === "array") {
      return Array.from({ length: this.#below(4) }, () =>
        this.value(schema.items ?? {}, all, depth + 1),
      );
    }
    if (type === "string") return this.#pick(TEXTS);
    if (type === "null") return null;
    return type === "boolean" ? this.#chance(0.5) : this.#pick(NUMBERS);
  }

  #object(schema: Schema, all: Schemas, depth: number): object {
    const object: Record<string, unknown> = {};
    const required = schema.required ?? [];
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      const isLeftOut = this.#chance(required.includes(key) ? 0.08 : 0.4);
      if (!isLeftOut) object[key] = this.value(property, all, depth + 1);
    }
    for (const key of required) {
      if (!Object.hasOwn(object, key) && this.#chance(0.9)) object[key] = this.#pick(SCALARS);
    }
    if (this.#chance(0.2)) {
      const others = schema.additionalProperties;
      object[this.#pick(KEYS)] = others ? this.value(others, all, depth + 1) : 1;
    }
    if (this.#chance(0.05)) {
      // As a hostile peer would send it: an own member, which must not be treated as the prototype.
      const value = { a: 1, type: "a", kind: "a" };
      Object.defineProperty(object, "__proto__", { value, enumerable: true });
    }
    return object;
  }

  #anyValue(depth: number): unknown {
    if (depth > 0 && this.#chance(0.2)) return [this.#anyValue(depth - 1)];
    if (depth > 0 && this.#chance(0.3)) return { [this.#pick(KEYS)]: this.#anyValue(depth - 1) };
    return this.#pick([...SCALARS, [], {}]);
  }

  #schema(depth: number, names: readonly string[]): Schema {
    const roll = this.#below(depth > 0 ? 12 : 6);
    if (roll === 0 && names.length > 0) return { $ref: `#${this.#pick(names)}` };
    if (roll === 1) return { enum: this.#some(SCALARS, 3) };
    if (roll === 2) return { const: this.#pick(SCALARS) };
    if (roll === 10) return { anyOf: this.#list(1, 3, () => this.#schema(depth - 1, names)) };
    if (roll === 11) return this.#oneOf(depth - 1);
    const types = this.#chance(0.25) ? this.#some(TYPES, 3) : [this.#pick(TYPES)];
    const keywords: Record<string, unknown> = {};
    for (const type of types) Object.assign(keywords, this.#keywords(type, depth));
    const beside = this.#chance(0.1) && depth > 0 ? this.#schema(depth - 1, names) : {};
    const { anyOf, oneOf, $ref } = beside;
    return {
      type: types.length === 1 ? (types[0] ?? "null") : types,
      ...keywords,
      ...(anyOf && { anyOf }),
      ...(oneOf && { oneOf }),
      ...($ref !== undefined && { $ref }),
    };
  }

  #keywords(type: TypeName, depth: number): Schema {
    if (type === "string") {
      return {
        ...this.#maybe(0.3, () => ({ minLength: this.#below(4) })),
        ...this.#maybe(0.3, () => ({ maxLength: this.#below(4) })),
        ...this.#maybe(0.2, () => ({ pattern: this.#pick(["^a", "b$", "^.$", "\\p{L}"]) })),
        ...this.#maybe(0.2, () => ({
          format: this.#pick(["absolute-path", "uuid", "uri"] as const),
        })),
      };
    }
    if (type === "number" || type === "integer") {
      return {
        ...this.#maybe(0.4, () => ({ minimum: this.#pick(NUMBERS) })),
        ...this.#maybe(0.4, () => ({ maximum: this.#pick(NUMBERS) })),
      };
    }
    if (type === "array") {
      return {
        ...this.#maybe(0.3, () => ({ minItems: this.#below(3) })),
        ...this.#maybe(0.3, () => ({ maxItems: this.#below(4) })),
        ...this.#maybe(0.7, () => ({ items: this.#schema(depth - 1, this.#names) })),
      };
    }
    return type === "object" ? this.#objectKeywords(depth) : {};
  }

  #objectKeywords(depth: number): Schema {
    const keys = this.#some(KEYS, 4);
    return {
      ...this.#maybe(0.9, () => ({
        properties: Object.fromEntries(
          keys.map((key) => [key, this.#schema(depth - 1, this.#names)]),
        ),
      })),
      ...this.#maybe(0.6, () => ({ required: [...new Set(this.#some(KEYS, 2))] })),
      ...this.#maybe(0.3, () => ({
        additionalProperties: this.#chance(0.6) ? false : this.#schema(depth - 1, this.#names),
      })),
    };
  }

  #oneOf(depth: number): Schema {
    const tags = new Set(this.#some(TEXTS, 4));
    const oneOf = [...tags].map((tag): Schema => {
      const { properties, required = [], ...rest } = this.#objectKeywords(depth);
      const all = new Set(["kind", ...required]);
      const tagged = { kind: { const: tag }, ...properties };
      return { type: "object", properties: tagged, required: [...all], ...rest };
    });
    return this.#chance(0.3) ? { anyOf: oneOf } : { oneOf };
  }

  #maybe<T extends object>(probability: number, make: () => T): T | object {
    return this.#chance(probability) ? make() : {};
  }

  #list<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: least + this.#below(most - least + 1) }, make);
  }

  #some<T>(from: readonly T[], most: number): T[] {
    return [...new Set(this.#list(1, most, () => this.#pick(from)))];
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)] as T;
  }

  #chance(probability: number): boolean {
    return this.#next() < probability;
  }

  #below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  /** mulberry32 */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
}

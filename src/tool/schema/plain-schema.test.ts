import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { compileSchema } from "./compile-schema.ts";
import { plainSchema } from "./plain-schema.ts";

const ROUNDS = 300;

/** Schemas and values that are made for each other often enough. */
class Chance extends SeededRandom {
  schema(depth = 0): unknown {
    const schema: Record<string, unknown> = {};
    if (this.once(20)) return this.once(2);
    if (!this.once(4)) schema.type = this.once(4) ? [this.type(), this.type()] : this.type();
    for (let more = this.below(4); more > 0; more--) {
      const [keyword, told] = this.keyword(depth);
      schema[keyword] = told;
    }
    return schema;
  }

  type(): string {
    return this.pick(["string", "number", "integer", "boolean", "null", "array", "object", "odd"]);
  }

  keyword(depth: number): readonly [string, unknown] {
    const inner = (): unknown => (depth > 2 ? { type: this.type() } : this.schema(depth + 1));
    const named = (): unknown => ({ a: inner(), __proto__x: inner(), b: inner() });
    const number = (): unknown => (this.once(15) ? "2" : this.below(4) - 1);
    return this.pick<() => readonly [string, unknown]>([
      () => ["properties", this.once(20) ? [] : named()],
      () => ["properties", JSON.parse(`{"__proto__":${JSON.stringify(inner())}}`)],
      () => ["required", this.pick([["a"], ["a", "b"], [], "a", ["__proto__"], ["toString"], [1]])],
      () => ["additionalProperties", this.once(2) ? false : inner()],
      () => ["items", this.once(10) ? [inner()] : inner()],
      () => ["enum", this.pick([["x", 1, null], [], [{}], "x"])],
      () => ["const", this.pick<unknown>(["x", 1, null, {}, []])],
      () => ["anyOf", this.once(10) ? [] : [inner(), inner()]],
      () => [this.pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number()],
      () => [this.pick(["minItems", "maxItems", "minLength", "maxLength"]), number()],
      () => [this.pick(["pattern", "format", "title", "nullable", "x-note", "$ref", "not"]), "#"],
    ])();
  }

  value(depth = 0): unknown {
    const scalars = ["", "x", "xy", "\u{1f600}", "\ud83d", 0, 1, 1.5, -1, Infinity, true, null];
    if (depth > 3 || this.once(2)) return this.pick<unknown>(scalars);
    if (this.once(3)) return Array.from({ length: this.below(4) }, () => this.value(depth + 1));
    const names = ["a", "b", "__proto__", "toString", "c"].filter(() => this.once(2));
    const members = names.map((name) => `"${name}":${JSON.stringify(this.value(depth + 1))}`);
    return JSON.parse(`{${members.join(",")}}`);
  }
}

describe("plainSchema()", () => {
  it("accepts nothing that the compiled schema refuses", () => {
    const chance = new Chance(17);
    let [accepted, refused] = [0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      const schema = chance.schema();
      if (typeof schema === "boolean") continue;
      const fits = plainSchema(schema as Record<string, unknown>);
      if (fits === undefined) continue;
      const inspect = compileSchema(schema as Record<string, unknown>);
      for (const value of Array.from({ length: 20 }, () => chance.value())) {
        const problem = inspect(value);
        if (problem !== undefined) refused++;
        if (!fits(value)) continue;
        accepted++;
        assert.equal(problem, undefined, JSON.stringify({ schema, value }));
      }
    }
    assert.ok(accepted > 300 && refused > 300, `${accepted} accepted, ${refused} refused`);
  });

  const TOOL = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "A file" },
      head: { type: ["integer", "null"], minimum: 1 },
      edits: {
        type: "array",
        items: { type: "object", properties: { old: { type: "string" } }, required: ["old"] },
      },
      mode: { enum: ["fast", "slow"], default: "fast" },
      limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
    },
    required: ["path"],
    additionalProperties: false,
  };
  const right = { path: "a", head: 3, edits: [{ old: "x" }], mode: "slow", limit: null };

  it("accepts right arguments of a usual tool", () => {
    assert.equal(plainSchema(TOOL)?.(right), true);
  });

  for (const [name, wrong] of [
    ["a member that is missing", {}],
    ["an unknown member", { ...right, other: 1 }],
    ["a wrong type", { ...right, path: 1 }],
    ["a text that is too short", { ...right, path: "" }],
    ["a number out of bounds", { ...right, head: 0 }],
    ["a wrong item", { ...right, edits: [{ old: 1 }] }],
    ["a choice that there is not", { ...right, mode: "other" }],
  ] as const) {
    it(`does not accept ${name}`, () => assert.equal(plainSchema(TOOL)?.(wrong), false));
  }

  it("leaves schemas with other keywords to the compiler", () => {
    for (const other of [{ pattern: "a" }, { $ref: "#/$defs/a" }, { not: {} }, { allOf: [] }]) {
      assert.equal(plainSchema({ type: "object", properties: { a: other } }), undefined);
    }
  });

  it("leaves a schema to the compiler that is too large or too deep", () => {
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 30; level++) deep = { items: deep };
    const members = Array.from({ length: 2000 }, (_, at) => [`m${at}`, {}]);
    assert.equal(plainSchema(deep), undefined);
    assert.equal(plainSchema({ properties: Object.fromEntries(members) }), undefined);
  });
});

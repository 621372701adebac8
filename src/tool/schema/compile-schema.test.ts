import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { argumentProblem } from "./plain-schema.ts";
import { compileSchema } from "./compile-schema.ts";
import { sampleTool } from "../../../test/samples/sample-context.ts";
import type { JsonSchema } from "../tool.ts";
import { covers } from "../../../test/support/requirement.ts";

const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const object = (properties: Record<string, unknown>, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  properties,
  ...more,
});

/** What a schema says of a value. */
const SAYS: readonly (readonly [string, JsonSchema, unknown, string | undefined])[] = [
  ["nothing of what fits", object({ a: { type: "string" } }), { a: "x" }, undefined],
  ["the field", object({ a: { type: "string" } }), { a: 1 }, "'a' must be string"],
  [
    "the path",
    object({ a: object({ b: { type: "number" } }) }),
    { a: { b: "" } },
    "'a.b' must be number",
  ],
  [
    "the index",
    object({ a: { items: { type: "number" } } }),
    { a: [1, "x"] },
    "'a.1' must be number",
  ],
  ["odd names", object({ "a/b~c": { type: "string" } }), { "a/b~c": 1 }, "'a/b~c' must be string"],
  ["what is missing", object({}, { required: ["a"] }), {}, "'a' is missing"],
  ["what is missing below", object({ a: { required: ["b"] } }), { a: {} }, "'a.b' is missing"],
  ["what is too much", object({}, { additionalProperties: false }), { a: 1 }, "'a' is not known"],
  [
    "the choices",
    object({ a: { enum: ["x", 1, null] } }),
    { a: 2 },
    "'a' must be one of: x, 1, null",
  ],
  ["the constant", object({ a: { const: { b: 1 } } }), { a: 2 }, `'a' must be {"b":1}`],
  ["no", object({ a: false }), { a: 1 }, "'a' is not allowed"],
  ["yes", object({ a: true }), { a: 1 }, undefined],
  ["the whole", { type: "object" }, [], "arguments must be object"],
  [
    "the alternatives",
    object({ a: { anyOf: [{ type: "string" }, { type: "number" }] } }),
    { a: true },
    "'a' must be string, or 'a' must be number",
  ],
  [
    "that an item is there twice",
    object({ a: { uniqueItems: true } }),
    { a: [1, 2, 1] },
    "'a' must not have an item twice",
  ],
  ["that 1 is not '1'", object({ a: { uniqueItems: true } }), { a: [1, "1"] }, undefined],
  [
    "what a definition says (2020-12)",
    object({ a: { $ref: "#/$defs/text" } }, { $defs: { text: { type: "string" } } }),
    { a: 1 },
    "'a' must be string",
  ],
  [
    "what a definition says (draft 7)",
    object(
      { a: { $ref: "#/definitions/text" } },
      { $schema: DRAFT_7, definitions: { text: { type: "string" } } },
    ),
    { a: 1 },
    "'a' must be string",
  ],
  [
    "what 2020-12 calls a tuple",
    object({ a: { prefixItems: [{ type: "string" }] } }),
    { a: [1] },
    "'a.0' must be string",
  ],
  [
    "what draft 7 calls a tuple",
    object({ a: { items: [{ type: "string" }] } }, { $schema: DRAFT_7 }),
    { a: [1] },
    "'a.0' must be string",
  ],
  [
    "what draft 7 calls a tuple, though it does not say that it is one",
    object({ a: { items: [{ type: "string" }] } }),
    { a: [1] },
    "'a.0' must be string",
  ],
  [
    "what a pattern says",
    object({ a: { pattern: "^[a-z]+$" } }),
    { a: "A" },
    `'a' must match pattern "^[a-z]+$"`,
  ],
  [
    "what a pattern that may take long says",
    object({ a: { pattern: "^(?:[a-z]+-)*[a-z]+$" } }),
    { a: "a--b" },
    `'a' must match pattern "^(?:[a-z]+-)*[a-z]+$"`,
  ],
  [
    "what one that refers to itself says",
    object({ a: { $ref: "#" } }, { additionalProperties: false }),
    { a: { a: { b: 1 } } },
    "'a.a.b' is not known",
  ],
  [
    "nothing of formats and of what nobody knows",
    object({ a: { format: "email", "x-mine": 1 } }),
    { a: "" },
    undefined,
  ],
];

describe("compileSchema()", () => {
  for (const [what, schema, value, says] of SAYS) {
    it(`reports ${what}`, () => {
      covers("mcp.base.schema-2020-12", "mcp.base.schema-dialect");
      assert.equal(compileSchema(schema)(value), says);
    });
  }

  const unreadable: Record<string, JsonSchema> = {
    "a type that is none": { type: "banana" },
    "a keyword with the wrong value": { required: "a" },
    "a reference to nowhere": { $ref: "#/$defs/none" },
    "a reference to elsewhere": { $ref: "https://example.com/schema" },
    "a pattern that is none": object({ a: { pattern: "(" } }),
    "an end that is none": { $ref: "#" },
    "an end that is none, in a circle": {
      $ref: "#/$defs/a",
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
    },
  };
  for (const [what, schema] of Object.entries(unreadable)) {
    it(`accepts everything with a schema with ${what}`, () => {
      const inspect = compileSchema(schema);
      assert.equal(inspect({ a: 1 }), undefined);
      assert.equal(inspect({ a: 1 }), undefined);
    });
  }

  it("keeps schemas apart that contain the same names", () => {
    const named = (type: string): JsonSchema => ({
      $id: "https://example.com/tool",
      ...object({ a: { $ref: "https://example.com/part" } }),
      $defs: { part: { $id: "https://example.com/part", type } },
    });
    assert.equal(compileSchema(named("string"))({ a: 1 }), "'a' must be string");
    assert.equal(compileSchema(named("number"))({ a: "" }), "'a' must be number");
  });

  it("does not treat inherited members as arguments", () => {
    const schema = object({}, { required: ["constructor"], additionalProperties: false });
    assert.equal(compileSchema(schema)({}), "'constructor' is missing");
    const hostile = JSON.parse('{"__proto__":{"type":"string"}}') as Record<string, unknown>;
    const inspect = compileSchema(object(hostile));
    assert.equal(inspect({}), undefined);
    assert.equal(({} as { type?: string }).type, undefined);
  });

  it("accepts everything with a schema that is too large or too deep", () => {
    const large = Object.fromEntries(
      Array.from({ length: 50_000 }, (_, i) => [`a${i}`, { type: "string" }]),
    );
    assert.equal(compileSchema(object(large))({ a1: 1 }), undefined);
    let deep: JsonSchema = { type: "string" };
    for (let i = 0; i < 5000; i++) deep = object({ a: deep });
    assert.equal(compileSchema(deep)({ a: 1 }), undefined);
  });

  it("checks an expression that would backtrack, in linear time", () => {
    const inspect = compileSchema(object({ a: { pattern: "^(a+)+$" } }));
    const complaint = `'a' must match pattern "^(a+)+$"`;
    assert.equal(inspect({ a: "aaab" }), complaint);
    assert.equal(inspect({ a: `${"a".repeat(4000)}b` }), complaint);
    assert.equal(inspect({ a: "a".repeat(4000) }), undefined);
  });

  it("checks all but an expression that cannot be matched in linear time", () => {
    const pattern = `(?=${"a?".repeat(40)}${"a".repeat(40)})`;
    const inspect = compileSchema(object({ a: { pattern }, b: { type: "string" } }));
    assert.equal(inspect({ a: "a" }), undefined);
    assert.equal(inspect({ b: 1 }), "'b' must be string");
  });

  for (const pattern of [
    "(a|a)*b",
    "^(a|a)*b",
    "^(?:a|aa)+b",
    "(a*)*b",
    "^(?=(a+)+b)",
    "(a)\\1*b",
    `${"a?".repeat(40)}${"a".repeat(40)}b`,
    `${"a?".repeat(4000)}${"a".repeat(4000)}`,
    "[".repeat(1_000_000),
    `${"(?:a|)".repeat(40)}${"a".repeat(40)}`,
    "((?:){1000}){1000}b",
    "a*a*a*a*a*b",
  ]) {
    it(`is fast with ${pattern.slice(0, 20)}`, () => {
      // Each takes longer than anyone waits; those that are not stopped hang here. Some take long to be
      // compiled, which JavaScript's own expressions do when they first see a text that is long enough.
      for (const length of [39, 79, 4000]) {
        compileSchema(object({ a: { pattern } }))({ a: "a".repeat(length) });
      }
      compileSchema({ patternProperties: { [pattern]: false } })({ ["a".repeat(4000)]: 1 });
    });
  }

  it("does not check texts that are too long for any expression", () => {
    const inspect = compileSchema(object({ a: { pattern: "a*b" } }));
    assert.equal(inspect({ a: "a".repeat(4096) }), `'a' must match pattern "a*b"`);
    assert.equal(inspect({ a: "a".repeat(1_000_000) }), undefined);
  });

  it("is fast with alternatives that double at every level", () => {
    const below = { properties: { x: { $ref: "#/$defs/a" } } };
    const branch = { allOf: [below, { required: ["none"] }] };
    const inspect = compileSchema({ $ref: "#/$defs/a", $defs: { a: { anyOf: [branch, branch] } } });
    let value: object = {};
    for (let i = 0; i < 100; i++) value = { x: value };
    assert.equal(inspect(value), undefined);
  });

  it("finds duplicate items in one pass", () => {
    const inspect = compileSchema(object({ a: { uniqueItems: true } }));
    const items = Array.from({ length: 200_000 }, (_, i) => ({ i }));
    assert.equal(inspect({ a: items }), undefined);
    assert.equal(inspect({ a: [...items, { i: 0 }] }), "'a' must not have an item twice");
  });

  it("shortens a long name in its message", () => {
    const inspect = compileSchema(object({}, { additionalProperties: false }));
    assert(inspect({ ["x".repeat(100_000)]: 1 })!.length < 300);
  });
});

describe("argumentProblem()", () => {
  it("compiles a schema once, and waits only for the compiler", async () => {
    let reads = 0;
    const inputSchema = {
      get type() {
        reads++;
        return "object";
      },
      required: ["a"],
    };
    const tool = sampleTool("x", () => ({ content: [] }), {
      definition: { name: "x", inputSchema },
    });
    assert.equal(await argumentProblem(tool, {}), "'a' is missing");
    const readOnce = reads;
    assert.equal(argumentProblem(tool, { a: 1 }), undefined);
    assert.equal(reads, readOnce);
  });

  for (const inputSchema of [true, false, null, undefined, "object"]) {
    it(`accepts everything with ${String(inputSchema)} in a schema's place`, async () => {
      const definition = { name: "x", inputSchema: inputSchema as unknown as JsonSchema };
      const tool = sampleTool("x", () => ({ content: [] }), { definition });
      assert.equal(await argumentProblem(tool, {}), undefined);
    });
  }
});

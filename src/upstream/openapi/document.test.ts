import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OpenApiDocument, SchemaClosure } from "./document.ts";

function closure(schemas: object, openapi = "3.1.0"): SchemaClosure {
  return new SchemaClosure(new OpenApiDocument({ openapi, components: { schemas } }));
}

const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

describe("SchemaClosure", () => {
  it("keeps references, and brings what they lead to, also to itself", () => {
    const found = closure({
      Tree: { type: "object", properties: { left: ref("Tree"), leaf: ref("Leaf") } },
      Leaf: { type: "string", maxLength: 3 },
      Other: { type: "number" },
    });
    assert.deepEqual(found.convert({ type: "array", items: ref("Tree") }), {
      type: "array",
      items: { $ref: "#/$defs/Tree" },
    });
    assert.deepEqual(found.defs, {
      Tree: {
        type: "object",
        properties: { left: { $ref: "#/$defs/Tree" }, leaf: { $ref: "#/$defs/Leaf" } },
      },
      Leaf: { type: "string", maxLength: 3 },
    });
  });

  it("names two targets with the same last word apart", () => {
    const found = closure({
      A: { properties: { id: { type: "string" } } },
      id: { type: "number" },
    });
    const both = { anyOf: [ref("id"), ref("A/properties/id")] };
    assert.deepEqual(found.convert(both), {
      anyOf: [{ $ref: "#/$defs/id" }, { $ref: "#/$defs/id_2" }],
    });
    assert.deepEqual(found.defs, { id: { type: "number" }, id_2: { type: "string" } });
  });

  it("turns 3.0 into JSON Schema", () => {
    const found = closure({ Name: { type: "string" } }, "3.0.3");
    const converted = found.convert({
      type: "object",
      properties: {
        a: {
          type: "integer",
          minimum: 1,
          exclusiveMinimum: true,
          maximum: 5,
          exclusiveMaximum: false,
        },
        b: { type: "string", nullable: true, enum: ["x"], example: "x", "x-own": 1 },
        c: { allOf: [ref("Name")], nullable: true },
        d: { ...ref("Name"), description: "ignored beside a reference" },
      },
    });
    assert.deepEqual(converted, {
      type: "object",
      properties: {
        a: { type: "integer", exclusiveMinimum: 1, maximum: 5 },
        b: { type: ["string", "null"], enum: ["x", null] },
        c: { anyOf: [{ allOf: [{ $ref: "#/$defs/Name" }] }, { type: "null" }] },
        d: { $ref: "#/$defs/Name" },
      },
    });
  });

  it("leaves out a pattern that is no regular expression", () => {
    const found = closure({}).convert({ type: "string", pattern: "{[0-9]}" });
    assert.deepEqual(found, { type: "string" });
    assert.deepEqual(closure({}).convert({ pattern: "^[0-9]$" }), { pattern: "^[0-9]$" });
  });

  it("leaves out what only answers have, and keeps properties with the names of keywords", () => {
    const properties = {
      id: { type: "string", readOnly: true },
      example: { type: "string" },
      enum: { type: "string", enum: [{ $ref: "data" }] },
    };
    const required = ["id", "example"];
    assert.deepEqual(closure({}).convert({ type: "object", properties, required }), {
      type: "object",
      properties: { example: { type: "string" }, enum: properties.enum },
      required: ["example"],
    });
  });

  it("refuses what leads out of the document or nowhere", () => {
    for (const [wrong, says] of [
      ["other.yaml#/a", /refers to 'other\.yaml#\/a', outside of itself\. Bundle it/],
      ["http://169.254.169.254/", /outside of itself/],
      ["file:///etc/passwd", /outside of itself/],
      ["#anchor", /outside of itself/],
      ["#/components/schemas/None", /which it does not have/],
      ["#/components/__proto__", /which it does not have/],
    ] as const) {
      assert.throws(() => closure({}).convert({ $ref: wrong }), says);
    }
  });

  it("stays small where each schema refers to two others", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => {
        const properties = { a: ref(`S${(n * 2) % 60}`), b: ref(`S${(n * 2 + 1) % 60}`) };
        return [`S${n}`, { type: "object", properties }];
      }),
    );
    const found = closure(schemas);
    found.convert(ref("S1"));
    assert.equal(Object.keys(found.defs).length, 60);
    assert.ok(JSON.stringify(found.defs).length < 10_000);
  });

  it("follows references through any number of schemas", () => {
    const count = 10_000;
    const schemas = Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`S${n}`, { items: ref(`S${(n + 1) % count}`) }]),
    );
    const found = closure(schemas);
    found.convert(ref("S0"));
    assert.equal(Object.keys(found.defs).length, count);
  });

  it("names many targets with the same last word apart, in no time", () => {
    const names = Array.from({ length: 100_000 }, (_, n) => `schema${n}`);
    const found = closure(
      Object.fromEntries(names.map((name) => [name, { properties: { id: true } }])),
    );
    found.convert({ anyOf: names.map((name) => ref(`${name}/properties/id`)) });
    assert.equal(Object.keys(found.defs).at(-1), "id_100000");
  });
});

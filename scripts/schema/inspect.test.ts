import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { inspect } from "./inspect.ts";

const REFUSED: readonly (readonly [schemas: unknown, message: string])[] = [
  [{ A: { allOf: [] } }, "Cannot compile schema 'A': keyword 'allOf' is not supported"],
  [
    { A: { type: "object", properties: { b: { items: {} } } } },
    "Cannot compile schema 'A' at 'properties.b': keyword 'items' needs type 'array' beside it",
  ],
  [
    { A: { type: "array", items: { type: "string", format: "date" } } },
    "Cannot compile schema 'A' at 'items': keyword 'format' does not know 'date'",
  ],
  [
    { A: { anyOf: [{}, { $ref: "#B" }] } },
    "Cannot compile schema 'A' at 'anyOf.1': keyword '$ref' must name a schema of this file, not '#B'",
  ],
  [{ A: { type: "text" } }, "Cannot compile schema 'A': keyword 'type' does not know 'text'"],
  [
    { A: { type: "string", enum: ["a", 1] } },
    "Cannot compile schema 'A': keyword 'type' contradicts the listed value 1",
  ],
  [
    { A: { const: { a: 1 } } },
    "Cannot compile schema 'A': keywords 'enum' and 'const' take no objects or lists",
  ],
  [
    { A: { enum: [] } },
    "Cannot compile schema 'A': keyword 'enum' must be a list that is not empty",
  ],
  [
    { A: { type: "object", additionalProperties: true } },
    "Cannot compile schema 'A' at 'additionalProperties': a schema must be an object",
  ],
  [
    { A: { type: "object", properties: JSON.parse('{"__proto__":{}}') } },
    "Cannot compile schema 'A': keyword 'properties' cannot have '__proto__'",
  ],
  [{ a: {} }, "Cannot compile schema 'a': its name must be in PascalCase"],
  [{ Check: {} }, "Cannot compile schema 'Check': generated code uses this name itself"],
  [[], "Cannot compile: 'schemas' must be an object"],
];

describe("inspect()", () => {
  for (const [schemas, message] of REFUSED) {
    it(`refuses ${JSON.stringify(schemas)}`, () => {
      assert.throws(() => inspect(schemas), { message });
    });
  }

  it("passes annotations", () => {
    const schemas = { A: { type: "string", description: "a", default: "b", "x-project": true } };
    assert.equal(inspect(schemas), schemas);
  });
});

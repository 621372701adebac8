import assert from "node:assert/strict";
import { test } from "node:test";

import { contentOf, fieldsOf } from "./question-fields.ts";

const SCHEMA = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", title: "Your name" },
    age: { type: "integer", default: 3 },
    isFine: { type: "boolean", default: true },
    color: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g" }] },
    tags: { type: "array", items: { enum: ["a", "b"] }, default: ["b"] },
  },
};

test("fieldsOf() makes a field of each property of a question", () => {
  assert.deepEqual(
    fieldsOf(SCHEMA).map(({ name, title, type, isRequired, initial }) => [
      ...[name, title, type, isRequired, initial],
    ]),
    [
      ["name", "Your name", "text", true, ""],
      ["age", "age", "number", false, "3"],
      ["isFine", "isFine", "boolean", false, true],
      ["color", "color", "choice", false, ""],
      ["tags", "tags", "choices", false, ["b"]],
    ],
  );
  assert.deepEqual(fieldsOf(SCHEMA)[3]?.choices, [
    { value: "r", title: "Red" },
    { value: "g", title: "g" },
  ]);
  assert.deepEqual(fieldsOf(undefined), []);
});

test("contentOf() gives numbers as numbers, and leaves out what was left empty", () => {
  const fields = fieldsOf(SCHEMA);
  assert.deepEqual(contentOf(fields, { name: "Ann", color: "", age: "41" }), {
    ...{ name: "Ann", age: 41, isFine: true, tags: ["b"] },
  });
});

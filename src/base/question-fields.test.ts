import assert from "node:assert/strict";
import { test } from "node:test";

import { argumentsOf, contentOf, fieldsOf, valuesOf } from "./question-fields.ts";

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

const TOOL = {
  type: "object",
  required: ["path", "list"],
  properties: {
    path: { type: "string" },
    depth: { anyOf: [{ type: "integer" }, { type: "null" }], title: "Depth", default: null },
    level: { type: "integer", enum: [1, 2] },
    isDry: { type: "boolean" },
    list: { type: "array", items: { type: "string" } },
    filter: { type: "object", properties: {} },
    any: {},
    mixed: { anyOf: [{ type: "string" }, { type: "object" }] },
  },
};

test("fieldsOf() makes fields of a tool's schema: lines for lists of texts, JSON for what is not simple", () => {
  assert.deepEqual(
    fieldsOf(TOOL).map(({ name, type, choices }) => [name, type, choices.length]),
    [
      ["path", "text", 0],
      ["depth", "number", 0],
      ["level", "number", 2],
      ["isDry", "boolean", 0],
      ["list", "lines", 0],
      ["filter", "json", 0],
      ["any", "json", 0],
      ["mixed", "json", 0],
    ],
  );
});

test("argumentsOf() has what was typed and what is required; valuesOf() takes it back, or says that it cannot", () => {
  const fields = fieldsOf(TOOL);
  const values = { path: "a", depth: "3", level: "2", list: "x\n\ny", filter: '{"a":[1]}' };
  const args = { path: "a", depth: 3, level: 2, list: ["x", "y"], filter: { a: [1] } };
  assert.deepEqual(argumentsOf(fields, values), args);
  assert.deepEqual(argumentsOf(fields, { path: "a" }), { path: "a", list: [] });
  assert.deepEqual(argumentsOf(fields, valuesOf(fields, args) ?? {}), args);
  const { isDry, any } = valuesOf(fields, { ...args, isDry: false, any: true }) ?? {};
  assert.deepEqual([isDry, any], [false, "true"]);
  for (const wrong of [{ unknown: 1 }, { depth: "3" }, { path: 4 }, { list: ["a\nb"] }]) {
    assert.equal(valuesOf(fields, { ...args, ...wrong }), undefined, JSON.stringify(wrong));
  }
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { headerParams, saysTheSame, valueAt } from "./modern-requests.ts";

const marked = (header: unknown, more: object = {}) => ({ "x-mcp-header": header, ...more });

describe("headerParams()", () => {
  it("finds marked arguments at every depth of properties, and nowhere else", () => {
    const schema = {
      type: "object",
      properties: {
        region: marked("Region"),
        place: { type: "object", properties: { city: marked("City") } },
        list: { type: "array", items: { properties: { no: marked("No") } } },
        bad: marked("not a token"),
        odd: marked(7),
        any: true,
      },
      oneOf: [{ properties: { no: marked("No") } }],
    };
    const found = headerParams(schema);
    assert.deepEqual(found, [
      { header: "mcp-param-region", path: ["region"] },
      { header: "mcp-param-city", path: ["place", "city"] },
    ]);
    assert.equal(headerParams(schema), found, "looked for once");
  });
});

describe("saysTheSame()", () => {
  it("compares texts exactly, numbers by value, booleans by name", () => {
    assert.ok(saysTheSame("a", "a") && !saysTheSame("A", "a"));
    assert.ok(saysTheSame("42.0", 42) && !saysTheSame("43", 42) && !saysTheSame("", 0));
    assert.ok(saysTheSame("true", true) && !saysTheSame("True", true));
  });
});

describe("valueAt()", () => {
  it("finds own members only", () => {
    assert.equal(valueAt({ a: { b: 1 } }, ["a", "b"]), 1);
    assert.equal(valueAt({ a: 1 }, ["a", "b"]), undefined);
    assert.equal(valueAt({}, ["constructor"]), undefined);
    assert.equal(valueAt(undefined, ["a"]), undefined);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { parameterHeaders, valueAt } from "./param-headers.ts";

const marked = (header: unknown, more: object = {}) => ({ "x-mcp-header": header, ...more });
const schemaOf = (properties: object): object => ({ type: "object", properties });

describe("parameterHeaders()", () => {
  it("finds marked arguments at every depth of properties, and nowhere else", () => {
    const { headers, areSound } = parameterHeaders({
      type: "object",
      properties: {
        plain: { type: "string" },
        region: marked("Region", { type: "string" }),
        place: schemaOf({ city: marked("City", { type: "boolean" }) }),
        list: { type: "array", items: { properties: { no: marked("No") } } },
        any: true,
      },
      oneOf: [{ properties: { no: marked("No") } }],
    });
    assert.ok(areSound);
    assert.deepEqual(headers, [
      { header: "region", path: ["region"] },
      { header: "city", path: ["place", "city"] },
    ]);
    assert.deepEqual(parameterHeaders(undefined), { headers: [], areSound: true });
  });

  it("finds the others where one mark cannot be a header", () => {
    const { headers } = parameterHeaders(
      schemaOf({ bad: marked("not a token"), odd: marked(7), good: marked("Good") }),
    );
    assert.deepEqual(headers, [{ header: "good", path: ["good"] }]);
  });

  const WRONG: Record<string, object> = {
    "a name that is empty": { a: { type: "string", "x-mcp-header": "" } },
    "a name with a blank": { a: { type: "string", "x-mcp-header": "My Header" } },
    "a name that is no text": { a: { type: "string", "x-mcp-header": 7 } },
    "a number": { a: { type: "number", "x-mcp-header": "A" } },
    "an object": { a: { type: "object", "x-mcp-header": "A" } },
    "a name twice": {
      a: { type: "string", "x-mcp-header": "Same" },
      b: { type: "string", "x-mcp-header": "same" },
    },
  };
  for (const [what, properties] of Object.entries(WRONG)) {
    it(`refuses ${what}`, () => {
      covers("mcp.modern-http-client.bad-marks");
      assert.equal(parameterHeaders(schemaOf(properties)).areSound, false);
    });
  }
});

describe("valueAt()", () => {
  it("finds own members only", () => {
    assert.equal(valueAt({ a: { b: 1 } }, ["a", "b"]), 1);
    assert.equal(valueAt({ a: 1 }, ["a", "b"]), undefined);
    assert.equal(valueAt({}, ["constructor"]), undefined);
    assert.equal(valueAt(undefined, ["a"]), undefined);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { costOf, costOfTool, sumOf } from "./tool-cost.ts";

describe("the cost of a text", () => {
  it("is its bytes, and a quarter of them as tokens", () => {
    assert.deepEqual(costOf(""), { bytes: 0, tokens: 0 });
    assert.deepEqual(costOf("four!"), { bytes: 5, tokens: 2 });
    assert.deepEqual(costOf("é"), { bytes: 2, tokens: 1 });
  });

  it("is that of the whole definition, for a tool", () => {
    const definition = { name: "a", inputSchema: { type: "object" } };
    assert.equal(costOfTool({ definition }).bytes, JSON.stringify(definition).length);
  });

  it("adds up", () => {
    assert.deepEqual(sumOf([costOf("a"), costOf("bb")]), { bytes: 3, tokens: 2 });
  });
});

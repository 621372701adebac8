import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { firstLine } from "./first-line.ts";

describe("firstLine()", () => {
  it("is the first line that says something", () => {
    assert.equal(firstLine("\n  \n  first\tline \nsecond"), "first line");
    assert.equal(firstLine(""), "");
  });

  it("shows what would not be seen", () => {
    assert.equal(firstLine("safe\u202e\x1b[2J"), String.raw`safe\u202e\u001b[2J`);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { diffLines } from "./diff-lines.ts";

describe("diffLines()", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["", "", ""],
    ["abc", "abc", " a b c"],
    ["abc", "axc", " a-b+x c"],
    ["", "ab", "+a+b"],
    ["ab", "", "-a-b"],
    ["abc", "bcd", "-a b c+d"],
    ["abcabba", "cbabac", "-a-b c+b a b-b a+c"],
  ];
  for (const [before, after, expected] of cases) {
    it(`returns '${expected}' for '${before}' and '${after}'`, () => {
      const lines = diffLines(before.split(""), after.split(""));
      assert.equal(lines.map((line) => line[0] + line.slice(2)).join(""), expected);
    });
  }

  it("shows everything of texts that are too long to compare", () => {
    const before = Array.from({ length: 3000 }, () => "a");
    const after = Array.from({ length: 3000 }, () => "b");
    const lines = diffLines(before, after);
    assert.equal(lines.filter((line) => line === "- a").length, 3000);
    assert.equal(lines.filter((line) => line === "+ b").length, 3000);
    assert.equal(diffLines(before, [...before, "b"]).filter((line) => line !== "  a").length, 1);
  });
});

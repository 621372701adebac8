import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { glob } from "./glob.ts";

const FITS: Record<string, readonly string[]> = {
  echo: ["echo"],
  "*": ["", "echo", "two\nlines", "__proto__"],
  "review_*": ["review_", "review_list"],
  "*_list": ["_list", "review_list"],
  "a*c": ["ac", "abc", "a\nc", "acac"],
  "a**c": ["ac", "abc"],
  "*b*": ["b", "abc"],
  "ab*bc": ["abbc", "ab bc"],
  "*a*b*c": ["abc", "xaxbxc", "abcabc"],
  "a.c(": ["a.c("],
  __proto__: ["__proto__"],
};

const DOES_NOT_FIT: Record<string, readonly string[]> = {
  echo: ["echo2", "Echo", "", "xecho"],
  "": ["a"],
  "review_*": ["review", "xreview_list"],
  "*_list": ["list", "_lists"],
  "a*c": ["a", "c", "abcd"],
  "ab*bc": ["abc", "ab"],
  "*a*b*c": ["cba", "ab", "acb"],
  "a.c(": ["abc("],
};

describe("glob()", () => {
  for (const [pattern, texts] of Object.entries(FITS)) {
    for (const text of texts) {
      it(`'${pattern}' matches ${JSON.stringify(text)}`, () => assert(glob(pattern)(text)));
    }
  }

  for (const [pattern, texts] of Object.entries(DOES_NOT_FIT)) {
    for (const text of texts) {
      it(`'${pattern}' does not match ${JSON.stringify(text)}`, () => {
        assert(!glob(pattern)(text));
      });
    }
  }

  it("is fast on a text that makes a regular expression backtrack", () => {
    // The expression takes n^20 steps: this test would not end.
    assert(!glob(`${"*a".repeat(20)}*b`)("a".repeat(100_000)));
  });
});

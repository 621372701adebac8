import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { globExpression } from "./search-text.ts";

const CASES: readonly (readonly [glob: string, path: string, fits: boolean])[] = [
  ["*.ts", "a.ts", true],
  ["*.ts", ".a.ts", true],
  ["*.ts", "a/b.ts", false],
  ["**/*.ts", "a/b/c.ts", true],
  ["**/*.ts", "c.ts", true],
  ["a/**/*.ts", "a/c.ts", true],
  ["a/**", "a/b/c", true],
  ["a/**", "ab/c", false],
  ["a?c", "abc", true],
  ["a?c", "a/c", false],
  ["[!a]b", "cb", true],
  ["[!a]b", "ab", false],
  ["[a-c^]", "^", true],
  ["[a-c^]", "d", false],
  ["*.{ts,tsx}", "x.tsx", true],
  ["{src,test}/**/{a,b}.ts", "test/x/b.ts", true],
  ["a,b", "a,b", true],
  ["a.b", "axb", false],
  ["(x)+$", "(x)+$", true],
  ["\u00e9*", "\u00e9a", true],
];

describe("globExpression()", () => {
  for (const [glob, path, fits] of CASES) {
    it(`${fits ? "fits" : "does not fit"} ${glob} to ${path}`, () => {
      assert.equal(globExpression(glob).test(path), fits);
    });
  }

  it("is fast with globs that have many ways to fit", () => {
    // Each takes longer than anyone waits if it is tried way by way.
    assert.equal(globExpression(`${"*a".repeat(30)}*c`).test("a".repeat(250)), false);
    assert.equal(globExpression("{a,b}".repeat(40)).test("a".repeat(39)), false);
  });

  for (const glob of ["{a", "a}", "*".repeat(5_000), "[".repeat(1_000_000)]) {
    it(`refuses ${glob.slice(0, 10)}`, () => {
      assert.throws(() => globExpression(glob), SyntaxError);
    });
  }
});

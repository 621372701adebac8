import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { storagePattern } from "./storage.ts";

describe("storagePattern()", () => {
  const cases: [pattern: string, like: string[], unlike: string[]][] = [
    ["*.md", ["a.md", ".md", "a.b.md"], ["a.mdx", "a.MD", "md"]],
    ["*", ["", "a", "a.b"], []],
    ["", [""], ["a"]],
    ["a?c", ["abc", "a👍c", "a?c"], ["ac", "abbc"]],
    ["[a-c1].x", ["a.x", "b.x", "c.x", "1.x"], ["d.x", "-.x", ".x"]],
    ["[^a-c]", ["d", "^", "👍"], ["a", "c", ""]],
    ["[!a]", ["!", "a"], ["b"]],
    ["[c-a]", [], ["a", "b", "c"]],
    ["[\\]\\-]", ["]", "-"], ["\\"]],
    ["\\*\\?", ["*?"], ["ab", "\\*\\?"]],
    ["FEAT-*-*.md", ["FEAT-A-1.md", "FEAT--.md"], ["FEAT-A.md"]],
    ["a*b*c", ["abc", "a-b-b-c"], ["acb", "ab"]],
    ["{a,b}", ["{a,b}"], ["a"]],
  ];
  for (const [pattern, like, unlike] of cases) {
    it(`matches as expected with ${JSON.stringify(pattern)}`, () => {
      const matches = storagePattern(pattern);
      for (const name of like) assert.equal(matches(name), true, name);
      for (const name of unlike) assert.equal(matches(name), false, name);
    });
  }

  it("is fast with a pattern that could backtrack", () => {
    const matches = storagePattern(`${"*a".repeat(400)}b`);
    const start = process.cpuUsage();
    for (let round = 0; round < 100; round++) assert.equal(matches("a".repeat(240)), false);
    assert.ok(process.cpuUsage(start).user < 5_000_000);
  });

  it("reports what is wrong with an invalid pattern", () => {
    for (const pattern of ["[a", "[]", "[a-]", "a\\"]) {
      const message = new RegExp(
        `^Cannot use the pattern '${RegExp.escape(pattern)}': it is incomplete`,
      );
      assert.throws(() => storagePattern(pattern), { code: "usage", message });
    }
    assert.throws(() => storagePattern("*".repeat(1_001)), /longer than 1000 characters/);
  });
});

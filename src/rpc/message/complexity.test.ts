import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isDeeper, measureComplexity } from "./complexity.ts";

const NO_LIMITS = { maxWork: Infinity, maxDepth: Infinity };
const work = (text: string) => measureComplexity(text, NO_LIMITS).work;
const list = (count: number, item: (index: number) => string) =>
  `[${Array.from({ length: count }, (_, index) => item(index)).join(",")}]`;

describe("isDeeper", () => {
  it("tells whether a text is nested deeper than a number of levels, ignoring strings", () => {
    const text = `{"a":[{}],"b":"[[[[","c\\"[[":[[]]}`;
    assert.equal(isDeeper(text, 2), true);
    assert.equal(isDeeper(text, 3), false);
    assert.equal(isDeeper("[]".repeat(100), 1), false);
  });
});

describe("measureComplexity", () => {
  it("counts the levels of nesting, ignoring strings", () => {
    const depth = (text: string) => measureComplexity(text, NO_LIMITS).depth;
    assert.equal(depth(`{"a":[{}],"b":"[[[[","c\\"[[":0}`), 3);
    assert.equal(depth("[[],[],[[]]]"), 3);
    assert.equal(depth("]]]]}}}}["), 1);
    assert.equal(depth(`"[[["`), 0);
  });

  it("counts more for what takes a parser longer", () => {
    const rising = [
      `"${"x".repeat(10_000)}"`,
      list(1000, () => "1"),
      list(1000, () => "12345678.9"),
      list(1000, (i) => `"s${i}"`),
      list(1000, () => `{"a":"b"}`),
      list(1000, (i) => `{"a${i}":"b"}`),
    ].map(work);
    assert.deepEqual(
      rising,
      rising.toSorted((a, b) => a - b),
    );
    assert.ok((rising[5] ?? 0) > 2 * (rising[4] ?? 0));
  });

  it("counts objects with distinct keys, in any order of few keys too", () => {
    const keys = ["a", "b", "c", "d", "e", "f"];
    const permutation = (index: number) => {
      const left = [...keys];
      return keys.map((_, at) => left.splice((index >> at) % left.length, 1)[0] ?? "");
    };
    const objects = (orderOf: (index: number) => string[]) =>
      list(
        200,
        (i) =>
          `{${orderOf(i)
            .map((key) => `"${key}":0`)
            .join(",")}}`,
      );
    assert.ok(work(objects(permutation)) > 1.3 * work(objects(() => keys)));
  });

  it("does not confuse keys that are split differently", () => {
    const same = work(`[{"ab":0,"c":0},{"ab":0,"c":0}]`);
    const split = work(`[{"ab":0,"c":0},{"a":0,"bc":0}]`);
    assert.ok(split > same + 20, `${split} is not much more than ${same}`);
  });

  it("counts each character of a number and of white space, and escapes in strings", () => {
    assert.ok(work("7".repeat(100_000)) >= 25_000);
    assert.ok(work(" ".repeat(100_000)) >= 25_000);
    assert.ok(work(`"${'\\"'.repeat(100_000)}"`) >= 24_000);
    assert.ok(work(`"${"x".repeat(100_000)}"`) < 10);
  });

  it("stops at the limit", () => {
    const limits = { maxWork: 100, maxDepth: 10 };
    assert.ok(
      measureComplexity(
        list(1000, () => "1"),
        limits,
      ).work < 110,
    );
    assert.equal(measureComplexity("[".repeat(1000), limits).depth, 11);
    assert.equal(measureComplexity("[".repeat(10), limits).depth, 10);
  });
});

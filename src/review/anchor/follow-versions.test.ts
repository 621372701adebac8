import assert from "node:assert/strict";
import { test } from "node:test";

import { agreed, findThrough } from "./follow-versions.ts";
import { GONE, LineMatcher, type LinePosition } from "./line-position.ts";

const TEXT = Array.from({ length: 12 }, (_, n) => `const value${n} = compute(${n}, "of ${n}");`);

function through(...texts: string[][]): LineMatcher[] {
  return texts.slice(1).map((text, at) => new LineMatcher(texts[at] ?? [], text));
}

test("findThrough() is exact only if every step is", () => {
  const longer = ["new", ...TEXT];
  assert.deepEqual(findThrough(through(TEXT, longer, ["newer", ...longer]), 5, 6), {
    line: 8,
    end: 9,
    confidence: "exact",
    method: "diff",
  });
  const edited = TEXT.with(5, "const value5 = compute(5, other);");
  const steps = through(TEXT, edited, ["new", ...edited]);
  assert.deepEqual(findThrough(steps, 5, 5), {
    line: 7,
    end: 7,
    confidence: "low",
    method: "fuzzy",
  });
});

test("findThrough() follows a line through an indentation, other quotes and other line breaks", () => {
  const indented = TEXT.map((line) => `\t\t${line}`);
  const quoted = indented.map((line) => line.replaceAll('"', "'"));
  const wrapped = quoted.flatMap((line) => line.split(/(?<== |, )/));
  const steps = through(TEXT, indented, quoted, wrapped, TEXT);
  for (const at of TEXT.keys()) assert.equal(findThrough(steps, at, at).line, at + 1);
  const cut = through(TEXT, indented, quoted, wrapped);
  for (const at of TEXT.keys()) {
    const { line, end } = findThrough(cut, at, at);
    assert.deepEqual([line, end], [at * 3 + 1, at * 3 + 3]);
  }
});

test("findThrough() does not come back to a line after it was gone", () => {
  const without = TEXT.toSpliced(5, 1);
  assert.deepEqual(findThrough(through(TEXT, without, TEXT), 5, 5), GONE);
});

test("agreed() is exact only if both ways lead to the same place with certainty", () => {
  const exact: LinePosition = { line: 3, end: 3, confidence: "exact", method: "diff" };
  const high: LinePosition = { ...exact, confidence: "high" };
  assert.deepEqual(agreed(exact, exact), exact);
  assert.deepEqual(agreed(high, exact), high);
  assert.deepEqual(agreed(exact, { ...exact, line: 7, end: 7 }), { ...high, line: 7, end: 7 });
  // Removed by one commit, and restored by another.
  assert.deepEqual(agreed(exact, GONE), high);
  assert.deepEqual(agreed(high, GONE), GONE);
});

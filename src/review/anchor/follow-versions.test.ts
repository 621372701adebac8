import assert from "node:assert/strict";
import { test } from "node:test";

import { FileText } from "./file-text.ts";
import { findThrough } from "./follow-versions.ts";
import { GONE, LineMatcher } from "./line-position.ts";

const TEXT = Array.from({ length: 12 }, (_, n) => `const value${n} = compute(${n}, "of ${n}");`);

function through(...texts: string[][]): LineMatcher[] {
  return texts
    .slice(1)
    .map((text, at) => new LineMatcher(FileText.of(texts[at] ?? []), FileText.of(text)));
}

test("findThrough() is as sure as its least sure step, and never certain", () => {
  const longer = ["new", ...TEXT];
  assert.deepEqual(findThrough(through(TEXT, longer, ["newer", ...longer]), 5, 6), {
    line: 8,
    end: 9,
    confidence: "high",
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

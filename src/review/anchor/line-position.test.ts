import assert from "node:assert/strict";
import { test } from "node:test";

import type { Anchor } from "../../store/schema.gen.ts";
import { FileText } from "./file-text.ts";
import { CONTEXT, findQuote, GONE, LineMatcher, type LinePosition } from "./line-position.ts";

const TEXT = `package main

import "fmt"

func first() {
	fmt.Println("first function here")
}

func second() {
	value := compute(1, 2)
	if value == nil {
		return
	}
	fmt.Println("second function here", value)
}

func third() {
	if value == nil {
		return
	}
}
`.split("\n");

function findLines(
  { line = 1, end = line }: Anchor,
  before: string[],
  now: string[],
): LinePosition {
  return new LineMatcher(FileText.of(before), FileText.of(now)).find(line - 1, end - 1);
}

function anchorAt(line: number, end = line, lines = TEXT): Anchor {
  return {
    path: "x",
    side: "new",
    line,
    end,
    quote: lines.slice(line - 1, end),
    before: lines.slice(Math.max(0, line - 1 - CONTEXT), line - 1),
    after: lines.slice(end, end + CONTEXT),
  };
}

function edited(edit: (lines: string[]) => void): string[] {
  const lines = [...TEXT];
  edit(lines);
  return lines;
}

function positionOf(line: number, now: string[], end = line): LinePosition {
  return findLines(anchorAt(line, end), TEXT, now);
}

test("LineMatcher finds a line of an unchanged text exactly where it was", () => {
  for (const line of TEXT.keys()) {
    const { line: found, method } = positionOf(line + 1, TEXT);
    assert.equal(found, line + 1);
    assert.equal(method, "diff");
  }
  assert.equal(positionOf(10, TEXT).confidence, "exact");
});

test("LineMatcher follows a line through changes above and below it", () => {
  const now = edited((lines) => lines.splice(3, 0, "// one", "// two"));
  assert.deepEqual(positionOf(10, now), {
    line: 12,
    end: 12,
    confidence: "exact",
    method: "diff",
  });
  assert.deepEqual(positionOf(10, now, 14), {
    line: 12,
    end: 16,
    confidence: "exact",
    method: "diff",
  });
});

test("LineMatcher reports a deleted line as gone, though its words are elsewhere", () => {
  const now = edited((lines) => lines.splice(16, 5));
  assert.equal(positionOf(18, now).confidence, "gone");
  assert.equal(positionOf(19, now).confidence, "gone");
});

test("LineMatcher finds a moved block by its words", () => {
  const now = edited((lines) => {
    const moved = lines.splice(4, 4);
    lines.splice(14, 0, "", ...moved);
  });
  for (const line of [5, 6]) {
    const { line: found = 0, method } = positionOf(line, now);
    assert.equal(now[found - 1], TEXT[line - 1]);
    assert.equal(method, "quote");
  }
});

test("LineMatcher finds a line that was edited in place, with low confidence", () => {
  const now = edited((lines) => (lines[9] = "\tvalue := compute(1, 2, 3)"));
  assert.deepEqual(positionOf(10, now), {
    line: 10,
    end: 10,
    confidence: "low",
    method: "fuzzy",
  });
  const replaced = edited((lines) => (lines[9] = "\tpanic(errors.New())"));
  assert.equal(positionOf(10, replaced).confidence, "gone");
});

test("LineMatcher is not certain about a line in a block that occurs twice", () => {
  const block = ["{", "  same", "  words", "  here", "  again", "}"];
  const before = [...block, ...block];
  const anchor = anchorAt(3, 3, before);
  assert.equal(findLines(anchor, before, ["new", ...before]).confidence, "high");
});

test("LineMatcher narrows a range to its remaining lines", () => {
  const now = edited((lines) => lines.splice(9, 2));
  const found = positionOf(9, now, 13);
  assert.deepEqual(found, { line: 9, end: 11, confidence: "high", method: "diff" });
});

test("findQuote() searches for the words of a text that was not stored", () => {
  const now = edited((lines) => lines.splice(0, 0, "// a", "// b"));
  const found = findQuote(anchorAt(10), now);
  assert.deepEqual(found, { line: 12, end: 12, confidence: "high", method: "quote" });
  assert.equal(findQuote(anchorAt(10), []).confidence, "gone");
});

const LINES = Array.from({ length: 12 }, (_, n) => `const value${n} = compute(${n}, "of ${n}");`);

/** Follows lines through all versions of a text, each compared with the next. */
function through(texts: string[][], first: number, last = first): LinePosition {
  let found: LinePosition = { line: first + 1, end: last + 1, confidence: "exact", method: "diff" };
  for (const [at, text] of texts.slice(1).entries()) {
    const step = new LineMatcher(FileText.of(texts[at] ?? []), FileText.of(text));
    const { line, end = line } = found;
    if (line === undefined || end === undefined) return found;
    found = step.find(line - 1, end - 1);
  }
  return found;
}

test("LineMatcher follows a line through an indentation, other quotes and other line breaks", () => {
  const indented = LINES.map((line) => `\t\t${line}`);
  const quoted = indented.map((line) => line.replaceAll('"', "'"));
  const wrapped = quoted.flatMap((line) => line.split(/(?<== |, )/));
  const versions = [LINES, indented, quoted, wrapped];
  for (const at of LINES.keys()) {
    assert.equal(through([...versions, LINES], at).line, at + 1);
    const { line, end } = through(versions, at);
    assert.deepEqual([line, end], [at * 3 + 1, at * 3 + 3]);
  }
});

test("LineMatcher does not find a line that was gone", () => {
  const without = LINES.toSpliced(5, 1);
  assert.deepEqual(through([LINES, without, LINES], 5), GONE);
});

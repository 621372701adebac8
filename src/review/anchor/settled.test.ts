import assert from "node:assert/strict";
import { test } from "node:test";

import { FileText } from "./file-text.ts";
import { LineMatcher } from "./line-position.ts";

const TEXT = Array.from({ length: 12 }, (_, n) =>
  n % 4 === 2 ? "}" : `const value${n} = compute(${n}, "of ${n}");`,
);

/** How sure the position of a line is, and whether texts between the two could tell more. */
function found(before: string[], now: string[], at: number): [string, boolean] {
  const matcher = new LineMatcher(FileText.of(before), FileText.of(now));
  const position = matcher.find(at, at);
  return [position.confidence, matcher.isSettled(at, at, position)];
}

test("a line of which no words are left needs no other texts", () => {
  const now = TEXT.with(5, "somethingElse();");
  assert.deepEqual(found(TEXT, now, 5), ["gone", true]);
  assert.deepEqual(found(TEXT, TEXT.toSpliced(5, 1), 5), ["gone", true]);
});

test("a line whose words are on another may have been edited in between", () => {
  const edited = "somewhere.else(function () { return compute(5, value5, 'of 5') });";
  const now = [...TEXT.toSpliced(5, 1), edited];
  assert.deepEqual(found(TEXT, now, 5), ["gone", false]);
});

test("a brace that is still next to a landmark needs no other texts, unless there are more", () => {
  const now = TEXT.toSpliced(3, 0, "inserted();");
  assert.deepEqual(found(TEXT, now, 2), ["high", true]);
  const several = TEXT.toSpliced(3, 0, "inserted();", "}");
  assert.deepEqual(found(TEXT, several, 2), ["high", false]);
});

test("a brace is gone if there is none in its place", () => {
  assert.deepEqual(found(TEXT, TEXT.with(2, "inserted();"), 2), ["gone", true]);
  assert.deepEqual(found(TEXT, TEXT.with(2, "if (inserted) {}"), 2), ["gone", false]);
});

test("similar lines and moved lines are looked for in the texts between", () => {
  const edited = TEXT.with(5, 'const value5 = compute(5, "of 55");');
  assert.deepEqual(found(TEXT, edited, 5), ["low", false]);
  const moved = [...TEXT.slice(4), ...TEXT.slice(0, 4)];
  assert.equal(found(TEXT, moved, 1)[1], false);
});

test("a long line is not looked for in long lines: the texts between are", () => {
  const words = Array.from({ length: 200_000 }, (_, n) => `w${n}`);
  const long = Array.from({ length: 900 }, (_, n) => `z${n} `.repeat(1_500));
  assert.deepEqual(found(TEXT.with(5, words.join(" ")), TEXT.toSpliced(5, 1, ...long), 5), [
    "gone",
    false,
  ]);
  const few = TEXT.with(5, "z ".repeat(10_000));
  assert.deepEqual(found(TEXT.with(5, words.join(" ")), few, 5), ["gone", false]);
});

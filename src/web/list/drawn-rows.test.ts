import assert from "node:assert/strict";
import { test } from "node:test";

import { DrawnRows, type RowRange } from "./drawn-rows.ts";

const range = (first: number, last: number): RowRange => ({ first, last });
const byIndex = (index: number): number => index;

/** All drawings until nothing is left to draw. */
function drawingsOf(
  rows: DrawnRows,
  view: RowRange,
  ready: RowRange,
  keyOf: (index: number) => string | number = byIndex,
  fromEnd = false,
): RowRange[] {
  const drawings: RowRange[] = [];
  do drawings.push(rows.choose(view, ready, keyOf, fromEnd));
  while (!rows.isWhole);
  return drawings;
}

test("after a jump, each drawing has eight new rows, and those in view come first", () => {
  const rows = new DrawnRows();
  drawingsOf(rows, range(0, 10), range(0, 20));
  assert.deepEqual(drawingsOf(rows, range(100, 110), range(90, 120)), [
    range(100, 108),
    range(100, 116),
    range(96, 120),
    range(90, 120),
  ]);
});

test("a list that is read from its end is drawn from there", () => {
  const rows = new DrawnRows();
  assert.deepEqual(drawingsOf(rows, range(90, 100), range(80, 100), byIndex, true), [
    range(92, 100),
    range(84, 100),
    range(80, 100),
  ]);
});

test("a small step needs one drawing", () => {
  const rows = new DrawnRows();
  drawingsOf(rows, range(5, 15), range(0, 20));
  assert.deepEqual(drawingsOf(rows, range(8, 18), range(3, 23)), [range(3, 23)]);
  assert.deepEqual(drawingsOf(rows, range(5, 15), range(0, 20)), [range(0, 20)]);
});

test("rows that are drawn and in view stay, whichever way the step goes", () => {
  const rows = new DrawnRows();
  drawingsOf(rows, range(40, 60), range(40, 60));
  assert.deepEqual(drawingsOf(rows, range(55, 75), range(55, 75)), [range(55, 68), range(55, 75)]);
  assert.deepEqual(drawingsOf(rows, range(40, 60), range(40, 60)), [range(47, 60), range(40, 60)]);
});

test("other rows at the same places, such as those that a search finds, are new", () => {
  const rows = new DrawnRows();
  drawingsOf(rows, range(0, 10), range(0, 10));
  const found = (index: number): string => `found ${index}`;
  assert.deepEqual(drawingsOf(rows, range(0, 10), range(0, 10), found), [
    range(0, 8),
    range(0, 10),
  ]);
});

test("drawn rows that have moved, because earlier ones came before them, are not new", () => {
  const rows = new DrawnRows();
  drawingsOf(rows, range(0, 20), range(0, 20));
  const moved = (index: number): number => index - 500;
  assert.deepEqual(drawingsOf(rows, range(500, 520), range(500, 520), moved), [range(500, 520)]);
});

test("a list without rows in view needs one drawing", () => {
  assert.deepEqual(drawingsOf(new DrawnRows(), range(0, 0), range(0, 0)), [range(0, 0)]);
});

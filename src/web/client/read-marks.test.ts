import assert from "node:assert/strict";
import { test } from "node:test";

import { ReadMarks } from "./read-marks.ts";

function storage(initial: string | null = null) {
  let text = initial;
  return {
    getItem: () => text,
    setItem: (_: string, value: string) => {
      text = value;
    },
  };
}

const row = (last: number, updated = 0) => ({ id: "a", last, updated });

test("ReadMarks marks what came after the last reading, also on the next visit", () => {
  const kept = storage();
  const marks = new ReadMarks(kept, 100);
  assert.equal(marks.isUnread(row(5)), false);
  marks.read("a", 5);
  assert.equal(marks.isUnread(row(5, 200)), false);
  assert.equal(marks.isUnread(row(6)), true);
  assert.equal(new ReadMarks(kept, 300).isUnread(row(6)), true);
  marks.read("a", 3);
  assert.equal(marks.isUnread(row(5)), false);
});

test("ReadMarks marks a session that was never opened only if it changed after the first visit", () => {
  const kept = storage();
  assert.equal(new ReadMarks(kept, 100).isUnread(row(5, 99)), false);
  assert.equal(new ReadMarks(kept, 500).isUnread(row(5, 101)), true);
});

test("ReadMarks starts empty where the storage holds something else or fails", () => {
  for (const text of [
    "{",
    "7",
    "null",
    '{"since":"x"}',
    '{"since":1,"marks":[["a"],[1,2],null]}',
  ]) {
    assert.equal(new ReadMarks(storage(text), 9).isUnread(row(9)), false);
  }
  const full = {
    getItem: () => null,
    setItem: () => {
      throw new Error("full");
    },
  };
  const marks = new ReadMarks(full, 9);
  marks.read("a", 1);
  assert.equal(marks.isUnread(row(2)), true);
});

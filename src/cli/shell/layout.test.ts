import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { columns, firstLine, table, wrap } from "./layout.ts";

test("wrap() fills lines up to the width and no further", () => {
  assert.deepEqual(wrap("aa bb cc dd", 5), ["aa bb", "cc dd"]);
  assert.deepEqual(wrap("aa bb cc dd", 4), ["aa", "bb", "cc", "dd"]);
  assert.deepEqual(wrap("  aa \n bb ", 80), ["aa bb"]);
  assert.deepEqual(wrap("", 80), []);
});

test("wrap() does not break a word that is longer than the line", () => {
  assert.deepEqual(wrap("a https://example.org/long b", 10), [
    "a",
    "https://example.org/long",
    "b",
  ]);
});

test("columns() aligns the meanings, and indents their continuation", () => {
  const rows = [
    ["--a", "one two three"],
    ["--bbb", "four"],
  ] as const;
  assert.deepEqual(columns(rows, 20), ["  --a    one two", "         three", "  --bbb  four"]);
});

test("columns() puts the meaning of an overlong label below it", () => {
  const rows = [["--a-very-long-option NAME", "text"]] as const;
  assert.deepEqual(columns(rows, 40), ["  --a-very-long-option NAME", `${" ".repeat(20)}text`]);
});

test("columns() is empty when there is nothing to show", () => {
  assert.deepEqual(columns([], 80), []);
});

test("table() makes columns as wide as their longest cell, of however many rows", () => {
  const rows = [["ID", "NAME"], ...Array.from({ length: 150_000 }, (_, at) => [String(at), "x"])];
  const [head, first] = table(rows).split("\n", 2);
  assert.equal(head, "ID      NAME");
  assert.equal(first, "0       x");
});

describe("firstLine()", () => {
  it("is the first line that is not empty", () => {
    assert.equal(firstLine("\n  \n  first\tline \nsecond"), "first line");
    assert.equal(firstLine(""), "");
  });

  it("escapes hidden characters", () => {
    assert.equal(firstLine("safe\u202e\x1b[2J"), String.raw`safe\u202e\u001b[2J`);
  });
});

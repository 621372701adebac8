import assert from "node:assert/strict";
import { test } from "node:test";

import { ago, bytes, milliseconds, money, prettyIn, short, shortPath } from "./format.ts";

test("ago() has one short word for every distance", () => {
  const at = (seconds: number): string => ago(0, seconds * 1000);
  assert.deepEqual(
    [0, 9, 10, 59, 60, 3599, 3600, 86_399, 86_400, 86_400 * 59, 86_400 * 60].map(at),
    ["now", "now", "10 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "59 d", "2 mo"],
  );
  assert.equal(ago(5000, 0), "now");
});

test("numbers are short and keep what matters", () => {
  assert.deepEqual([0, 999, 1000, 12_345, 999_499, 1_250_000].map(short), [
    ...["0", "999", "1k", "12k", "999k", "1.3M"],
  ]);
  assert.equal(money({ amount: 0.0214, currency: "USD" }), "$0.021");
  assert.equal(money({ amount: 12.5, currency: "EUR" }), "12.50 EUR");
  assert.deepEqual([0.44, 12.3, 999, 1500, 90_000].map(milliseconds), [
    ...["0.4 ms", "12 ms", "999 ms", "1.5 s", "1.5 min"],
  ]);
  assert.deepEqual([12, 1200, 5_000_000].map(bytes), ["12 B", "1.2 kB", "5 MB"]);
  assert.equal(shortPath("/home/ann/code/x"), "~/code/x");
});

test("prettyIn() breaks JSON into lines, and knows no lines of other text", () => {
  assert.equal(prettyIn('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(prettyIn("not json"), undefined);
  // With line breaks, the first would be 40 MB long, and the second 20 GB.
  for (const levels of [4_000, 100_000]) {
    const deep = "[".repeat(levels) + "]".repeat(levels);
    assert.equal(prettyIn(deep) ?? deep, deep);
  }
});

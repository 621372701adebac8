import assert from "node:assert/strict";
import { test } from "node:test";

import { FileText } from "./file-text.ts";
import { LineNumbers, TELLING } from "./line-numbers.ts";
import { keyOf } from "./line-words.ts";

test("lines have the same number if they differ only in space and the kind of quotes", () => {
  const lines = [
    ...["a('b')", '\ta( "b" )', "a(`b`)\r", "a(b)", "", "  \t", "}", "\x01}"],
    ...["é('b')", 'é ("b")', "e('b')", "a(\u00a0'b')", "\u2003", "日本", "日 本"],
    ...['日"', "日`", "日\u0222", "日\u0022"],
  ];
  const { numbers } = new LineNumbers().of(FileText.of(lines));
  for (const [at, line] of lines.entries()) {
    for (const [other, text] of lines.entries()) {
      const isSame = keyOf(line) === keyOf(text);
      assert.equal(numbers[at] === numbers[other], isSame, `${line} | ${text}`);
    }
  }
});

test("LineNumbers counts letters and digits, in whatever script", () => {
  const numbers = new LineNumbers();
  const texts = ["}", "ab 12;", "日本語日本語", "é'".repeat(4), "x".repeat(99)];
  const counts = [...numbers.of(FileText.of(texts)).numbers].map((n) => numbers.lettersOf(n));
  assert.deepEqual(counts, [0, 4, TELLING, 4, 20]);
});

test("LineNumbers knows where lines are that occur once, in many lines and texts", () => {
  const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n >> (n < 100 ? 1 : 0)}`);
  const numbers = new LineNumbers();
  numbers.of(FileText.of(lines.slice(0, 700)));
  const { numbers: found, once } = numbers.of(FileText.of(lines));
  assert.equal(found.length, lines.length);
  for (const [at, number] of found.entries()) {
    const isOnce = lines.indexOf(lines[at] ?? "") === lines.lastIndexOf(lines[at] ?? "");
    assert.equal(once[number] === at, isOnce, lines[at] ?? "");
  }
});

test("a text has as many numbers as lines, with and without a line end at its end", () => {
  for (const text of ["", "a", "a\n", "a\nb", "a\n\n", "\n", "a\r\nb\r\n"]) {
    const file = new FileText(Buffer.from(text));
    assert.equal(new LineNumbers().of(file).numbers.length, file.lines.length, text);
  }
});

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

test("a text has the same numbers when it is compared with another version first", () => {
  const line = (n: number): string => (n % 5 === 0 ? "}" : `  call(${n}, "é".repeat(${n % 3}));`);
  const lines = Array.from({ length: 60 }, (_, n) => line(n));
  const before = `${lines.join("\n")}\nend`;
  const changed = [
    before,
    `${before}\n`,
    `${before}ing`,
    `${before}\nmore\n`,
    lines.slice(7).join("\n"),
    ["first", ...lines, "last"].join("\n"),
    lines.toSpliced(20, 3, "new", line(41)).join("\n"),
    [...lines.slice(30), ...lines.slice(0, 30)].join("\r\n"),
    lines.map((text) => `\t${text.replaceAll('"', "'")}`).join("\n"),
    "",
    "\n\n",
  ];
  for (const text of changed) {
    const [old, plain, compared] = [before, text, text].map((of) => new FileText(Buffer.from(of)));
    assert.ok(old !== undefined && plain !== undefined && compared !== undefined);
    const numbers = new LineNumbers();
    numbers.of(old);
    const { numbers: found, starts } = numbers.of(compared, old);
    assert.deepEqual(
      { found, starts },
      { found: numbers.of(plain).numbers, starts: numbers.of(plain).starts },
    );
    assert.equal(found.length, plain.lines.length, text);
  }
});

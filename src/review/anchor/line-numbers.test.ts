import assert from "node:assert/strict";
import { test } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { textOf } from "./file-lines.ts";
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

test("lines have the same number if they are alike, in whatever bytes", () => {
  const random = new SeededRandom(16);
  const parts = [
    "a",
    "bc",
    " ",
    "\t",
    "'",
    '"',
    "\r",
    "\0",
    "é",
    "日本",
    "\u00a0",
    "\ufeff",
    "}",
    "\n",
  ];
  const bytes = [0x80, 0xc3, 0xff, 0x0b, 0x7f];
  const part = (): Buffer => {
    const at = random.below(parts.length + bytes.length);
    return Buffer.from(parts[at] ?? [bytes[at - parts.length] ?? 0]);
  };
  for (let round = 0; round < 200; round++) {
    const numbers = new LineNumbers();
    const seen = new Map<string, number>();
    for (const length of [0, 1, 7, 8, 9, 300]) {
      const content = Buffer.concat(Array.from({ length }, part));
      const { numbers: found, starts } = numbers.of(new FileText(content));
      const lines = linesIn(content);
      assert.equal(found.length, lines.length);
      for (const [at, line] of lines.entries()) {
        const key = keyOf(textOf(line));
        const known = seen.get(key) ?? seen.size;
        seen.set(key, known);
        assert.equal(found[at], known, JSON.stringify(key));
        assert.equal(
          content.subarray(starts[at], (starts[at] ?? 0) + line.length).compare(line),
          0,
        );
        assert.equal(numbers.lettersOf(known), lettersIn(key), JSON.stringify(key));
      }
    }
    assert.equal(numbers.size, seen.size);
  }
});

test("a text of millions of different lines takes no longer than others, and the next has room again", () => {
  const lines = Array.from({ length: 1_000_000 }, (_, n) => n.toString(36));
  const numbers = new LineNumbers();
  assert.equal(numbers.of(FileText.of(lines)).numbers.at(-1), 999_999);
  assert.deepEqual([...numbers.of(FileText.of(["10", "-", "zz"])).numbers], [36, 1_000_000, 1295]);
});

test("lines whose characters differ in their highest bit only are told apart", () => {
  const line = (number: number): string =>
    `日${number.toString(2).padStart(19, "0").replaceAll("0", "a").replaceAll("1", "\u8061")}`;
  const lines = Array.from({ length: 300_000 }, (_, n) => line(n));
  assert.equal(new LineNumbers().of(FileText.of(lines)).numbers.at(-1), 299_999);
});

test("lines of two letters that a sum of products cannot tell apart have different numbers", () => {
  // The Thue-Morse sequence, and the same with the letters exchanged.
  const ones = (number: number): number => number.toString(2).replaceAll("0", "").length;
  for (const letters of ["ab", "éè"]) {
    const lines = [0, 1].map((first) =>
      Array.from({ length: 4_096 }, (_, n) => letters[(ones(n) + first) % 2]).join(""),
    );
    assert.deepEqual([...new LineNumbers().of(FileText.of(lines)).numbers], [0, 1], letters);
  }
});

/** The lines of a text, as bytes without line ends. */
function linesIn(content: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let at = 0; at < content.length;) {
    const end = content.indexOf(10, at);
    lines.push(content.subarray(at, end < 0 ? content.length : end));
    at = end < 0 ? content.length : end + 1;
  }
  return lines;
}

function lettersIn(text: string): number {
  return Math.min(20, text.match(/[\p{L}\p{N}]/gu)?.length ?? 0);
}

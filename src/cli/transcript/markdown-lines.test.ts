import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { colorCode, markdownLines, MarkdownStream } from "./markdown-lines.ts";
import type { Line } from "./styled-line.ts";

const plain = (lines: readonly Line[]): string[] =>
  lines.map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );

/** What is printed of pieces, and what was shown last before the end. */
function streamed(pieces: readonly string[], width = 60): { printed: string[]; live: string[] } {
  const stream = new MarkdownStream();
  const printed: Line[] = [];
  let live: Line[] = [];
  for (const piece of pieces) {
    printed.push(...stream.write(piece, width));
    live = stream.live(width);
  }
  printed.push(...stream.end(width));
  return { printed: plain(printed), live: plain(live) };
}

const TEXT = [
  "# One\n\nSome *words* and [a link](https://example.com).\nA second line.\n\n",
  "- item\n  - nested\n- [x] done\n\n1. first\n2. second\n\n",
  "```py\ndef f():\n    return '`'\n\n# comment\n```\n",
  "| a | b |\n|---|---|\n| long cell | 1 |\n\n> quoted\n> text\n\n---\n\nThe end",
].join("");

describe("MarkdownStream", () => {
  it("prints the same, however the text is cut into pieces", () => {
    const { printed } = streamed([TEXT]);
    for (const size of [1, 2, 3, 7, 50]) {
      const pieces = TEXT.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      assert.deepEqual(streamed(pieces).printed, printed, String(size));
    }
    assert.deepEqual(printed.slice(0, 8), [
      "One",
      "",
      "Some words and a link (https://example.com).",
      "A second line.",
      "",
      "\u2022 item",
      "  \u2022 nested",
      "\u2022 [x] done",
    ]);
  });

  it("shows the block that is being written, and prints one when it has ended", () => {
    const { live } = streamed(["First.\n\n```ts\nconst a"]);
    assert.deepEqual(live, ["", "  const a"]);
    assert.deepEqual(streamed(["First.\n\nSecond.\n", "Thi"]).live, ["", "Second.", "Thi"]);
  });

  it("does not keep a block without end", () => {
    const stream = new MarkdownStream();
    let printed = 0;
    for (let at = 0; at < 2_000; at++) {
      printed += stream.write(at === 0 ? "```js\n" : `let a${at} = ${at};\n`, 80).length;
    }
    assert.ok(printed > 1_000, String(printed));
    assert.ok(stream.live(80).length < 900);
    const long = new MarkdownStream();
    for (let at = 0; at < 100; at++) long.write("word ".repeat(1_000), 80);
    assert.ok(long.live(80).length < 1_000);
  });
});

describe("markdownLines()", () => {
  it("fits a table into the width, and shows its rows one below the other where it is narrow", () => {
    const text = "| name | what it does |\n|---|---|\n| alpha | does one thing well |\n| b | - |";
    assert.deepEqual(plain(markdownLines(text, 24)), [
      "name  \u2502 what it does",
      "\u2500\u2500\u2500\u2500\u2500\u2500\u253c\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500",
      "alpha \u2502 does one thing",
      "      \u2502 well",
      "b     \u2502 -",
    ]);
    assert.deepEqual(plain(markdownLines(text, 12)).slice(0, 3), [
      "name: alpha",
      "what it does",
      "  : does one",
    ]);
  });

  it("shows where a link leads, and no control characters", () => {
    const text = "[bank.example](https://evil.example) \x1b]8;;x\x07y";
    assert.deepEqual(plain(markdownLines(text, 80)), [
      "bank.example (https://evil.example) \\u001b]8;;x\\u0007y",
    ]);
  });
});

describe("colorCode()", () => {
  const styles = (code: string, language: string) =>
    colorCode(code, language).flatMap((line) =>
      line
        .filter(({ styles: [style] }) => style !== undefined)
        .map(({ text, styles }) => `${styles[0]} ${text}`),
    );

  it("colours comments, strings, numbers and keywords", () => {
    assert.deepEqual(styles('return a["b//c"] + 0x1f; // return', "ts"), [
      "magenta return",
      'green "b//c"',
      "yellow 0x1f",
      "dim // return",
    ]);
    assert.deepEqual(styles("SELECT x -- y", "sql"), ["magenta SELECT", "dim -- y"]);
    assert.deepEqual(styles("x = 1 # y\nurl = 'a#b'", "py"), [
      "yellow 1",
      "dim # y",
      "green 'a#b'",
    ]);
    assert.deepEqual(styles("-old\n+new\n same", "diff"), ["red -old", "green +new", "dim  same"]);
    assert.deepEqual(styles("return 1", ""), []);
  });

  it("takes linear time for hostile code", () => {
    const started = process.cpuUsage();
    colorCode(
      `${'"\\'.repeat(100_000)}\n${'"\\'.repeat(250)}\n${"/*".repeat(250)}\n`.repeat(20),
      "js",
    );
    const { user } = process.cpuUsage(started);
    assert.ok(user < 2_000_000, String(user));
  });
});

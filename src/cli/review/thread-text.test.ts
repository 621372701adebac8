import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ThreadView } from "../../review/thread-view.ts";
import { tableText, threadText, whereOf } from "./thread-text.ts";

const THREAD: ThreadView = {
  id: "r7k2mq",
  state: "open",
  severity: "must",
  file: "src/a.ts",
  line: 4,
  end: 4,
  side: "new",
  confidence: "exact",
  method: "diff",
  comment: "Handle the error",
  by: "ada",
  at: "2026-01-01T00:00:00Z",
  repository: "/r/.git",
  source: "cli",
};

describe("whereOf()", () => {
  for (const [thread, where] of [
    [{}, "src/a.ts:4"],
    [{ end: 7 }, "src/a.ts:4-7"],
    [{ confidence: "low" }, "src/a.ts:4?"],
    [{ side: "old" }, "src/a.ts:4(old)"],
    [{ confidence: "gone", original: { file: "src/a.ts", line: 9 } }, "src/a.ts:9(gone)"],
    [{ confidence: "gone", original: { file: "src/a.ts" } }, "src/a.ts (gone)"],
    [{ file: "a\nb\u202e.ts" }, String.raw`a\nb\u202e.ts:4`],
  ] as const) {
    it(`is ${where}`, () => assert.equal(whereOf({ ...THREAD, ...thread }), where));
  }

  it("is the file alone for a comment on the whole file", () => {
    const { line: _line, end: _end, ...whole } = THREAD;
    assert.equal(whereOf(whole), "src/a.ts");
  });
});

describe("tableText()", () => {
  it("aligns columns, and cuts comments to the width, but never below 20 characters", () => {
    const long: ThreadView = { ...THREAD, state: "proposed", comment: `${"x".repeat(60)}\nmore` };
    const wide = tableText([THREAD, long], 60);
    assert.equal(
      wide,
      `r7k2mq  open      must  src/a.ts:4  Handle the error\n` +
        `r7k2mq  proposed  must  src/a.ts:4  ${"x".repeat(23)}…\n`,
    );
    assert.ok(tableText([long], 10).endsWith(`  ${"x".repeat(19)}…\n`));
  });

  it("cuts no comment that fits", () => {
    const comments = [24, 25, 26].map((length) => "x".repeat(length));
    const threads = comments.map((comment) => ({ ...THREAD, file: "é", comment }));
    const shown = Array.from(tableText(threads, 50).matchAll(/x+…?/g), ([text]) => text);
    assert.deepEqual(shown, ["x".repeat(24), "x".repeat(25), `${"x".repeat(24)}…`]);
  });
});

describe("threadText()", () => {
  it("shows the original position if the lines have moved, and who works on it", () => {
    const original = { file: "src/old.ts", line: 2 };
    const text = threadText({ ...THREAD, state: "claimed", claimedBy: "bot\x1b[2J", original });
    assert.match(text, /^r7k2mq {2}claimed by bot\\u001b\[2J {2}must\n/);
    assert.match(text, /\nmade on src\/old\.ts:2\n/);
  });

  it("shows quote, suggestion and replies, each indented", () => {
    const replies = [
      { kind: "proposed", by: "bot", role: "agent", at: "now", text: "So?", commit: "abc" },
      { kind: "resolved", by: "ada", role: "person", at: "later" },
    ];
    const text = threadText({ ...THREAD, quote: ["old"], suggestion: ["new"], replies });
    const [, quote, comment, suggestion, proposed, resolved] = text.split("\n\n");
    assert.equal(quote, "  | old");
    assert.equal(comment, "ada, 2026-01-01T00:00:00Z:\n  Handle the error");
    assert.equal(suggestion, "suggests:\n  + new");
    assert.equal(proposed, "bot proposed, now:\n  commit abc\n  So?");
    assert.equal(resolved, "ada resolved, later\n");
  });
});

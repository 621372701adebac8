import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { unifiedDiff } from "../../base/text/unified-diff.ts";
import { hunksIn } from "./unified-diff.ts";

test("hunksIn() reads what git prints: numbers, headings, and lines that look like headers", () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-diff-"));
  try {
    const before = [
      "function a() {",
      ...Array.from({ length: 9 }, (_, n) => `  ${n};`),
      "-- x",
      "}",
    ];
    const after = before.with(10, "++ y").with(4, "  three;");
    writeFileSync(join(folder, "a.txt"), `${before.join("\n")}\n`);
    writeFileSync(join(folder, "b.txt"), after.join("\n"));
    const args = ["diff", "--no-index", "--no-color", "-U1", "a.txt", "b.txt"];
    let text = "";
    try {
      execFileSync("git", args, { cwd: folder, encoding: "utf8" });
    } catch (error) {
      text = (error as { stdout: string }).stdout;
    }
    const hunks = hunksIn(text);
    assert.deepEqual(
      hunks.map(({ lines }) => lines.map((line) => [line.kind, line.old, line.new, line.text])),
      [
        [
          ["same", 4, 4, "  2;"],
          ["removed", 5, undefined, "  3;"],
          ["added", undefined, 5, "  three;"],
          ["same", 6, 6, "  4;"],
        ],
        [
          ["same", 10, 10, "  8;"],
          ["removed", 11, undefined, "-- x"],
          ["removed", 12, undefined, "}"],
          ["added", undefined, 11, "++ y"],
          ["added", undefined, 12, "}"],
        ],
      ],
    );
    assert.equal(hunks[1]?.heading, "function a() {");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("hunksIn() shows a change below a line with other line ends, and lines that look like headers", () => {
  const hunks = hunksIn(
    [
      ...["diff --git a/x b/x", "--- a/x", "+++ b/x"],
      ...["@@ -9 +9 @@ function a() { //\u2028", "-a", "+b"],
      ...["@@ -19 +19 @@ b\rc", "-- a/README.md", "+++ b/README.md", ""],
    ].join("\n"),
  );
  assert.deepEqual(
    hunks.map(({ lines }) => lines.map(({ text }) => text)),
    [
      ["a", "b"],
      ["- a/README.md", "++ b/README.md"],
    ],
  );
});

const shown = (old: string, fresh: string): string[] =>
  hunksIn(unifiedDiff("x", old, fresh)).map(({ lines }) =>
    lines
      .map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`)
      .join("|"),
  );

test("a diff of two texts has the changed lines with three lines around them", () => {
  const old = Array.from({ length: 30 }, (_, n) => `l${n}`);
  const fresh = old.with(5, "five").toSpliced(20, 1);
  assert.deepEqual(shown(old.join("\n"), fresh.join("\n")), [
    " l2| l3| l4|-l5|+five| l6| l7| l8",
    " l17| l18| l19|-l20| l21| l22| l23",
  ]);
});

test("a diff of two texts has new and emptied files, and nothing for equal ones", () => {
  assert.deepEqual(shown("", "a\nb\n"), ["+a|+b"]);
  assert.deepEqual(shown("a\n", ""), ["-a"]);
  assert.deepEqual(shown("a\n", "a\n"), []);
});

test("a diff of two long texts has only what changed, unless they have nothing in common", () => {
  const old = Array.from({ length: 5000 }, (_, n) => `a${n}`);
  assert.equal(shown(old.join("\n"), old.with(2500, "b").join("\n"))[0]?.split("|").length, 8);
  const other = old.map((line) => `b${line}`).join("\n");
  assert.equal(shown(old.join("\n"), other)[0]?.split("|").length, 10_000);
});

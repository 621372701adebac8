import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { parseDiff } from "./unified-diff.ts";

test("parseDiff() reads what git prints: numbers, headings, and lines that look like headers", () => {
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
    const [file, ...others] = parseDiff(text);
    assert.deepEqual(others, []);
    assert.equal(file?.path, "b.txt");
    assert.deepEqual(
      file.hunks.map(({ lines }) =>
        lines.map((line) => [line.kind, line.old, line.new, line.text]),
      ),
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
    assert.equal(file.hunks[1]?.heading, "function a() {");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("parseDiff() tells new, deleted, renamed and binary files apart", () => {
  const files = parseDiff(
    [
      ...["diff --git a/x b/x", "deleted file mode 100644", "--- a/x", "+++ /dev/null"],
      ...["@@ -1 +0,0 @@", "-gone", "diff --git a/o b/n", "rename from o", "rename to n"],
      ...["diff --git a/p.png b/p.png", "Binary files a/p.png and b/p.png differ"],
      ...["--- /dev/null", "+++ b/new file.txt\t", "@@ -0,0 +1 @@", "+hi", ""],
    ].join("\n"),
  );
  assert.deepEqual(
    files.map(({ path, from, isBinary, hunks }) => [path, from, isBinary, hunks.length]),
    [
      ["x", undefined, false, 1],
      ["n", "o", false, 0],
      ["p.png", undefined, true, 0],
      ["new file.txt", undefined, false, 1],
    ],
  );
});

test("parseDiff() shows a change below a line with other line ends, and names as files are called", () => {
  const [first, second, third] = parseDiff(
    [
      ...['diff --git "a/q\\"\\303\\274" "b/q\\"\\303\\274"', '--- "a/q\\"\\303\\274"'],
      ...['+++ "b/q\\"\\303\\274"', "@@ -9 +9 @@ function a() { //\u2028", "-a", "+b"],
      ...["@@ -19 +19 @@ b\rc", "-- a/README.md", "+++ b/README.md"],
      ...['diff --git "a/p\\nq" "b/p\\nq"', "Binary files differ"],
      ...["diff --git a/x b/y b/x b/y", "Binary files differ", ""],
    ].join("\n"),
  );
  assert.deepEqual([first?.path, second?.path, third?.path], ['q"ü', "p\nq", "x b/y"]);
  assert.deepEqual(
    first?.hunks.map(({ lines }) => lines.map(({ text }) => text)),
    [
      ["a", "b"],
      ["- a/README.md", "++ b/README.md"],
    ],
  );
});

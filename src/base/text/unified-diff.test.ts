import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { partsOfPatch } from "./patch-names.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** What git makes of a text with a diff. */
function applied(before: string | undefined, diff: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-diff-"));
  try {
    const file = join(folder, "a.txt");
    if (before !== undefined) writeFileSync(file, before);
    execFileSync("git", ["apply", "--unsafe-paths", "-"], { cwd: folder, input: diff });
    try {
      return readFileSync(file, "utf8");
    } catch {
      return undefined;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const long = Array.from({ length: 40 }, (_, at) => `line ${at}`);

describe("a unified diff", () => {
  const cases: [string, string | undefined, string | undefined][] = [
    ["a changed line", "one\ntwo\nthree\n", "one\nzwei\nthree\n"],
    ["a new file", undefined, "one\ntwo\n"],
    ["a deleted file", "one\ntwo\n", undefined],
    ["a last line without an end", "one\ntwo", "one\ntwo\nthree"],
    ["changes far apart", `${long.join("\n")}\n`, `x\n${long.slice(0, -1).join("\n")}\ny\n`],
    ["a text that becomes empty", "one\n", ""],
    ["an empty text that gets a line", "", "one\n"],
    ["a last line that gets an end", "one\ntwo", "one\ntwo\n"],
    ["line ends of Windows", "a\r\nb\r\n", "a\r\nc\r\n"],
  ];
  for (const [what, before, after] of cases) {
    it(`is applied by git: ${what}`, () => {
      assert.equal(applied(before, unifiedDiff("a.txt", before, after)), after);
    });
  }

  it("is about one file, whatever that is called", () => {
    const path = "a\n+++ b/other b.txt";
    const parts = partsOfPatch(unifiedDiff(path, "one\n", "two\n"));
    assert.deepEqual(
      parts.map((part) => part.path),
      [path],
    );
    assert.deepEqual(unifiedDiff("a b", "one\n", "two\n").split("\n").slice(0, 3), [
      "diff --git a/a b b/a b",
      "--- a/a b\t",
      "+++ b/a b\t",
    ]);
  });

  it("is empty where nothing has changed", () => {
    assert.equal(unifiedDiff("a.txt", "one\n", "one\n"), "");
  });

  it("writes a hunk of more lines than a call can have arguments", () => {
    const lines = "a\n".repeat(500_000);
    assert.equal(unifiedDiff("a.txt", undefined, lines).split("\n").length, 500_000 + 6);
  });

  it("gives the line numbers of an excerpt", () => {
    const patch = unifiedDiff("a/b.txt", "x\ny\n", "x\nz\n", 41);
    assert.match(patch, /^diff --git a\/a\/b.txt b\/a\/b.txt\n/);
    assert.match(patch, /@@ -41,2 \+41,2 @@\n x\n-y\n\+z\n$/);
  });
});

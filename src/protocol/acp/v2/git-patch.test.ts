import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { gitPatch } from "./git-patch.ts";

describe("gitPatch", () => {
  it("can be applied by git", () => {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-patch-"));
    try {
      const long = Array.from({ length: 20 }, (_, at) => `line ${at}\n`).join("");
      for (const [before, after] of [
        [undefined, "new\n"],
        [undefined, "no end"],
        ["one\ntwo\n", "one\n2\n"],
        ["one\ntwo", "one\ntwo\n"],
        ["one\n", ""],
        ["", "first\n"],
        [long, long.replace("line 10\n", "line ten\nand more\n")],
        [long, `before\n${long}`],
        [long, `${long}after`],
        ["a\r\nb\r\n", "a\r\nc\r\n"],
      ] as const) {
        const file = join(folder, "file");
        rmSync(file, { force: true });
        if (before !== undefined) writeFileSync(file, before);
        const input = gitPatch("/file", before, after);
        execFileSync("git", ["apply", "--unidiff-zero", "-"], {
          cwd: folder,
          input,
          stdio: "pipe",
        });
        const found = existsSync(file) ? readFileSync(file, "utf8") : "";
        assert.equal(found, after, input);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("stays a patch of one file, whatever that is called", () => {
    const patch = gitPatch('/a"b\n+++ b/other', "x\n", "z\n");
    const name = '/a\\"b\\n+++ b/other"';
    const names = [`diff --git "a${name} "b${name}`, `--- "a${name}`, `+++ "b${name}`];
    assert.deepEqual(patch.split("\n").slice(0, 3), names);
  });

  it("gives the line numbers of an excerpt", () => {
    const patch = gitPatch("/a/b.txt", "x\ny\n", "x\nz\n", 41);
    assert.match(patch, /^diff --git a\/a\/b.txt b\/a\/b.txt\n/);
    assert.match(patch, /@@ -41,2 \+41,2 @@\n x\n-y\n\+z\n$/);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENT = readFileSync(join(ROOT, "docs/EXTENDING.md"), "utf8");
/** What one needs to touch to add a thing of one kind; if it is more, the structure is wrong. */
const MOST_FILES = 5;

/** The numbered lists, as their lines. */
const LISTS = DOCUMENT.split("\n\n")
  .map((part) => part.split("\n").filter((line) => /^\d+\. /.test(line)))
  .filter((lines) => lines.length > 0);

describe("docs/EXTENDING.md", () => {
  it("has no list longer than five files", () => {
    assert.ok(LISTS.length >= 6);
    for (const lines of LISTS) assert.ok(lines.length <= MOST_FILES, lines.join("\n"));
  });

  it("names commits of this repository", (test) => {
    const hashes = Array.from(DOCUMENT.matchAll(/\bcommit ([0-9a-f]{7})\b/g), ([, hash]) => hash);
    assert.ok(hashes.length >= 6);
    for (const hash of hashes) {
      try {
        execFileSync("git", ["cat-file", "-e", `${hash}^{commit}`], { cwd: ROOT, stdio: "pipe" });
      } catch {
        return test.skip("needs the git history: this is not a clone, or a shallow one");
      }
    }
    return undefined;
  });
});

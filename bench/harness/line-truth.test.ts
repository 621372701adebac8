import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import type { Fate } from "./anchor-score.ts";
import { fileVersions } from "./file-versions.ts";
import { LineTruth } from "./line-truth.ts";

/** The fates of the lines of the first text in the last, after committing one after the other. */
function fates(...texts: string[][]): Fate[] {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-truth-"));
  try {
    const git = (...args: string[]): void => {
      const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
      execFileSync("git", [...who, ...args], { cwd: folder, stdio: "ignore" });
    };
    git("init", "--quiet");
    for (const text of texts) {
      writeFileSync(join(folder, "a file"), `${text.join("\n")}\n`);
      git("add", "--all");
      git("commit", "--quiet", "--message=x");
    }
    const versions = fileVersions(folder, "HEAD").get("a file") ?? [];
    return new LineTruth(folder, "a file", versions).fates(0, texts.length - 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const TEXT = [
  "const first = compute(one, 'text of the first');",
  "const second = compute(two, 'text of the second');",
  "const third = compute(three, 'text of the third');",
];
const [FIRST = "", SECOND = "", THIRD = ""] = TEXT;

test("LineTruth knows lines that were indented or moved", () => {
  assert.deepEqual(fates(TEXT, [SECOND, `\t\t${THIRD}`, "new", FIRST]), [
    { kind: "surviving", line: 4 },
    { kind: "surviving", line: 1 },
    { kind: "surviving", line: 2 },
  ]);
});

test("LineTruth knows lines that were re-quoted and re-wrapped, one commit after the other", () => {
  const quoted = TEXT.map((line) => line.replaceAll("'", '"'));
  const wrapped = quoted.flatMap((line) => line.split(/(?<=\(|, )/));
  assert.deepEqual(fates(TEXT, quoted, ["new", ...wrapped]), [
    { kind: "reformatted", line: 2 },
    { kind: "reformatted", line: 5 },
    { kind: "reformatted", line: 8 },
  ]);
});

test("LineTruth tells lines that were rewritten from those whose words are gone", () => {
  const before = ["open(file, mode, size)", "alpha beta gamma delta", THIRD];
  const now = ["open(path, mode, size)", "nothing of it", THIRD];
  assert.deepEqual(fates(before, now), [
    { kind: "rewritten" },
    { kind: "gone" },
    { kind: "surviving", line: 3 },
  ]);
});

test("LineTruth does not decide about a line that is back", () => {
  assert.deepEqual(fates(TEXT, [FIRST, THIRD], TEXT), [
    { kind: "surviving", line: 1 },
    { kind: "undecided" },
    { kind: "surviving", line: 3 },
  ]);
});

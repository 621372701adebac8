import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";

import { GitTruth } from "./git-truth.ts";

it("GitTruth tells what survives, was rewritten, moved or is gone", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-truth-"));
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: folder.path,
      encoding: "utf8",
    }).trim();
  git("init", "--quiet");
  const commits = [
    ["stays", "return compute(one, two)", "moves from here to down there", "short", "end of it"],
    ["new", "stays", "return compute(one, three)", "end of it", "moves from here to down there"],
    ["new", "stays", "return compute(four, three)", "end of it", "moves from here to down there"],
  ].map((lines) => {
    writeFileSync(join(folder.path, "file"), `${lines.join("\n")}\n`);
    git("add", "file");
    git("commit", "--quiet", "--no-gpg-sign", "--message=x");
    return git("rev-parse", "HEAD");
  });
  const truth = new GitTruth(folder.path, "file", commits);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((at) => truth.fateOf(at)),
    [
      { kind: "surviving", line: 2 },
      { kind: "rewritten", line: 3 },
      { kind: "surviving", line: 5 },
      { kind: "gone" },
      { kind: "surviving", line: 4 },
    ],
  );
});

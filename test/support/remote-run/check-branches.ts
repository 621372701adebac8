import assert from "node:assert/strict";

import { runFromShell } from "../run-from-shell.ts";
import type { SoakTurn, Target } from "./soak-session.ts";

/** A session of a remote run, as its client knows it. */
export interface RunSession {
  readonly id: string;
  readonly target: Target | undefined;
  readonly turns: readonly SoakTurn[];
}

/** Checks that each session has one branch on the remote, with each finished turn on it once. */
export function checkBranches(bare: string, sessions: readonly RunSession[]): void {
  const git = (...args: string[]): string =>
    runFromShell("git", ["--git-dir", bare, ...args]).trim();
  const branches = git("for-each-ref", "--format=%(refname:short)", "refs/heads/agent");
  const expected = sessions.map(({ target }) => String(target?.branch)).toSorted();
  assert.deepEqual(branches.split("\n").filter(Boolean).toSorted(), expected);
  for (const { target, turns, id } of sessions) {
    const branch = target?.branch ?? "";
    const log = git(
      "log",
      "--format=%H%x09%s%x09%(trailers:key=Trunkline-Session,valueonly)",
      branch,
    );
    const commits = log
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split("\t"))
      .filter(([, subject]) => subject?.startsWith("put ") === true);
    const subjects = commits.map(([, subject]) => subject);
    assert.equal(new Set(subjects).size, subjects.length, `a turn was committed twice: ${log}`);
    assert.ok(
      commits.every(([, , session]) => session === id),
      `a commit of another session: ${log}`,
    );
    for (const { file, content, run, target: reported } of turns) {
      if (run === undefined) continue;
      assert.equal(run, "pushed");
      assert.equal(git("show", `${branch}:${file}`), content);
      const { revision = "" } = reported ?? {};
      assert.ok(
        commits.some(([hash]) => hash === revision),
        `${revision} was reported, and is not on ${branch}: ${log}`,
      );
      assert.equal(git("show", `${revision}:${file}`), content);
    }
    const known = new Map(turns.map(({ file, content }) => [file, content]));
    for (const file of git("ls-tree", "--name-only", branch).split("\n")) {
      if (file === "README.md") continue;
      assert.equal(git("show", `${branch}:${file}`), known.get(file), `${file} on ${branch}`);
    }
  }
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { worktreeAt } from "./git-folder.ts";
import { discover, hasLinkedWorktrees } from "./repository.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

describe("discover()", { timeout: 60_000 }, () => {
  it("distinguishes the work tree's own folder from the shared one", async () => {
    using sample = new SampleRepository();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const { repository } = await discover(sample.gitIn(linked));
    assert.equal(repository?.worktree, linked);
    assert.equal(repository.commonDir, join(sample.path, ".git"));
    assert.equal(repository.gitDir, join(sample.path, ".git/worktrees/linked"));
    assert.ok(hasLinkedWorktrees(repository));
  });
});

describe("worktreeAt()", () => {
  it("waits for no pipe in the place of what points to a git folder", () => {
    using sample = new SampleRepository();
    const folder = join(sample.home, "stranger");
    mkdirSync(folder);
    execFileSync("mkfifo", [join(folder, ".git"), join(sample.path, ".git/commondir")]);
    assert.equal(worktreeAt(folder), undefined);
    assert.equal(worktreeAt(sample.path), undefined);
  });
});

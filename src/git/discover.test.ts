import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { discover } from "./discover.ts";
import { findRepository } from "./repository.ts";
import { hasLinkedWorktrees } from "./repository.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

const allowFile = ["-c", "protocol.file.allow=always"];

describe("discover()", { timeout: 60_000 }, () => {
  it("recognises every kind of repository as git itself does", async () => {
    using sample = new SampleRepository();
    sample.commit();
    const linked = sample.addWorktree("linked");
    mkdirSync(join(linked, "deep"));
    sample.runIn(sample.home, "init", "-q", "--bare", "bare.git");
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "hub.git");
    sample.runIn(join(sample.home, "hub.git"), "worktree", "add", "-q", "../spoke", "main");
    sample.runIn(sample.home, "init", "-q", "--separate-git-dir", "apart.git", "apart");
    mkdirSync(join(sample.home, "half/.git"), { recursive: true });
    mkdirSync(join(sample.path, "inner/.git"), { recursive: true });
    mkdirSync(join(sample.home, "none"));
    symlinkSync(sample.path, join(sample.home, "link"));
    sample.runIn(sample.path, ...allowFile, "submodule", "add", "-q", sample.path, "module");
    sample.runIn(sample.home, "init", "-q", "moved");
    sample.runIn(join(sample.home, "moved"), "config", "core.worktree", sample.home);
    sample.write("empty-config/.keep", "");
    sample.runIn(join(sample.home, "empty-config"), "init", "-q");
    sample.write("empty-config/.git/config", "");
    const folders = [
      "app",
      "app/.git",
      "app/.git/refs",
      "app/inner",
      "app/module",
      "linked/deep",
      "bare.git",
      "bare.git/refs",
      "spoke",
      "apart",
      "half",
      "none",
      "link",
      "moved",
      "empty-config",
    ];
    for (const folder of folders) {
      const git = sample.gitIn(join(sample.home, folder));
      const expected = await findRepository(git);
      assert.deepEqual((await discover(git)).repository, expected, folder);
    }
  });

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

import assert from "node:assert/strict";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";

describe("planUndo()", { timeout: 120_000 }, () => {
  it("undoes one switch after another, back to the original bytes", async () => {
    using sample = new SampleIdentities();
    const states = [sample.read("app/.git/config")];
    for (const name of ["work", "home", "work"]) {
      await sample.switch(name);
      states.push(sample.read("app/.git/config"));
    }
    for (const state of states.toReversed().slice(1)) {
      await sample.undo();
      assert.deepEqual(sample.read("app/.git/config"), state);
    }
    await assert.rejects(sample.undo(), /nothing has been switched in/);
  });

  it("refuses if a file was changed since, unless forced", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    await sample.switch("work");
    sample.run("remote", "add", "origin", "x:y");
    await assert.rejects(sample.undo(), /config' has changed since.*--force/);
    assert.equal(sample.config("remote.origin.url"), "x:y");
    await sample.undo({ worktree: sample.path, force: true });
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("undoes only the switch of its own work tree", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const before = sample.read("app/.git/config");
    await sample.switch("work", {}, linked);
    await sample.switch("home");
    const { plan } = await sample.undo({ worktree: linked });
    assert.match(plan.notes.join(), /extensions.worktreeConfig stays on/);
    assert.equal(sample.config("user.email"), "ada@home.example");
    assert.equal(sample.config("user.email", linked), "");
    await sample.undo();
    assert.equal(sample.config("user.email"), "");
    assert.notDeepEqual(sample.read("app/.git/config"), before);
  });

  it("restores a single work tree's switch byte for byte", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const before = sample.read("app/.git/config");
    await sample.switch("work", {}, linked);
    await sample.undo({ worktree: linked });
    assert.deepEqual(sample.read("app/.git/config"), before);
    assert.ok(!existsSync(join(sample.path, ".git/worktrees/linked/config.worktree")));
  });

  it("handles a repository that no longer exists", async () => {
    using sample = new SampleIdentities();
    await sample.switch("work");
    renameSync(sample.path, join(sample.home, "moved"));
    const plan = await sample.undo({ worktree: sample.path }).catch((error: Error) => error);
    assert.ok(!(plan instanceof Error && /changed since/.test(plan.message)));
  });
});

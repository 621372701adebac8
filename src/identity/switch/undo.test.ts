import assert from "node:assert/strict";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";
import { Git } from "../../git/git.ts";

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

  it("has git read a file once before and once after, however many settings it has", async ({
    mock,
  }) => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    const { mock: runs } = mock.method(Git.prototype, "run");
    const { plan } = await sample.undo();
    assert.ok(plan.settings.length > 4);
    assert.equal(runs.callCount(), 2);
  });

  it("keeps what git wrote since", async () => {
    using sample = new SampleIdentities();
    sample.write(
      "app/.git/config",
      `${sample.read("app/.git/config").toString()}[gc]\n\tauto = 0\n`,
    );
    const before = sample.read("app/.git/config").toString();
    sample.commit();
    await sample.switch("home");
    sample.run("init", "-q", "--bare", "../origin.git");
    sample.run("remote", "add", "origin", "../origin.git");
    sample.run("push", "-q", "-u", "origin", "main");
    sample.run("config", "user.useConfigOnly", "true");
    const { plan } = await sample.undo();
    assert.deepEqual(plan.notes, []);
    assert.equal(sample.config("branch.main.remote"), "origin");
    assert.equal(sample.config("user.useConfigOnly"), "true");
    for (const key of ["user.email", "user.signingKey", "trunkline.identity", "core.sshCommand"]) {
      assert.equal(sample.config(key), "");
    }
    const now = sample.read("app/.git/config").toString();
    assert.ok(now.startsWith(before));
    assert.doesNotMatch(now, /\[(?:trunkline|gpg|commit)\]/);
  });

  it("keeps a setting that a person changed since, and says so, unless forced", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    await sample.switch("work");
    sample.run("config", "user.email", "me@own.example");
    const { plan, id = "" } = await sample.undo();
    assert.match(plan.notes.join(), /changed since: user\.email in '.*config'.*--force/);
    assert.ok(plan.settings.every(({ key }) => key !== "user.email"));
    assert.equal(sample.config("user.email"), "me@own.example");
    assert.equal(sample.config("user.name"), "");
    assert.ok(id);
    sample.write("app/.git/config", before.toString());
    await sample.switch("work");
    sample.run("config", "user.email", "me@own.example");
    await sample.undo({ worktree: sample.path, force: true });
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("does not mix two identities when an older switch is undone by its id", async () => {
    using sample = new SampleIdentities();
    const { id = "" } = await sample.switch("work");
    await sample.switch("home");
    const state = sample.read("app/.git/config");
    const { plan } = await sample.undo({ id });
    assert.match(plan.notes.join(), /switched to 'home' later, and stays\. Undo that first/);
    assert.deepEqual(sample.read("app/.git/config"), state);
  });

  it("keeps a switch that another work tree made since", async () => {
    using sample = new SampleIdentities();
    await sample.switch("work");
    sample.commit();
    const linked = sample.addWorktree("linked");
    await sample.switch("home", {}, linked);
    await sample.undo();
    assert.equal(sample.config("user.email"), "");
    assert.equal(sample.config("user.email", linked), "ada@home.example");
    await sample.undo({ worktree: linked });
    assert.equal(sample.config("user.email", linked), "");
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

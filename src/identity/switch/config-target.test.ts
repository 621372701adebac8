import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";

describe("repositoryTarget()", { timeout: 120_000 }, () => {
  it("gives each work tree its own identity, without affecting the others", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    await sample.switch("work", {}, linked);
    assert.equal(sample.config("user.email", linked), "ada@acme.example");
    assert.equal(sample.config("user.email"), "");
    await sample.switch("home");
    assert.equal(sample.config("user.email", linked), "ada@acme.example");
    assert.equal(sample.config("user.email"), "ada@home.example");
  });

  it("keeps a bare repository bare and its work trees non-bare", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "hub.git");
    const hub = join(sample.home, "hub.git");
    const spoke = join(sample.home, "spoke");
    sample.runIn(hub, "worktree", "add", "-q", spoke, "main");
    const before = sample.read("hub.git/config");
    await sample.switch("work", {}, spoke);
    assert.equal(sample.runIn(hub, "rev-parse", "--is-bare-repository"), "true");
    assert.equal(sample.runIn(spoke, "rev-parse", "--is-bare-repository"), "false");
    sample.runIn(spoke, "status");
    assert.equal(sample.config("user.email", spoke), "ada@acme.example");
    assert.equal(sample.config("user.email", hub), "");
    await sample.undo({ worktree: spoke });
    assert.deepEqual(sample.read("hub.git/config"), before);
    assert.ok(!existsSync(join(hub, "config.worktree")));
  });
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";

describe("applyPlan()", { timeout: 120_000 }, () => {
  it("fails if it cannot write the journal, and changes nothing", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    sample.write("data", "a file in the folder's place");
    await assert.rejects(sample.switch("work"), { code: "unavailable", message: /Cannot make/ });
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("restores earlier changes if a later file cannot be changed", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const before = sample.read("app/.git/config");
    // A folder where a file should be: it cannot be read, nor replaced.
    const plan = await sample.plan("work", {}, linked);
    const path = plan.files.at(-1)?.path ?? "";
    const { applyPlan } = await import("./apply.ts");
    const spoilt = async () => {
      const made = await sample.plan("work", {}, linked);
      writeFileSync(path, "[x]\n\ty = 1\n");
      return made;
    };
    await assert.rejects(
      applyPlan(sample.journal, sample.git, spoilt),
      /changed it at the same time/,
    );
    assert.deepEqual(sample.read("app/.git/config"), before);
    const [entry] = await sample.journal.entries();
    assert.equal(entry?.outcome, "rolled-back");
  });

  it("serialises concurrent switches, so that one identity is complete", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    const names = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? "work" : "home"));
    await Promise.all(names.map((name) => sample.switch(name)));
    const email = sample.config("user.email");
    const isWork = email === "ada@acme.example";
    assert.equal(sample.config("trunkline.identity"), isWork ? "work" : "home");
    assert.equal(sample.config("gpg.format"), isWork ? "" : "openpgp");
    const entries = await sample.journal.entries();
    assert.ok(entries.every(({ outcome }) => outcome === "done"));
    for (const _ of entries) await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });
});

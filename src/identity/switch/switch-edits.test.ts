import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";

describe("switchEdits()", { timeout: 120_000 }, () => {
  it("leaves nothing of the previous identity", async () => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    const { sshKey: _, ...keyless } = WORK;
    using other = new SampleIdentities({ work: keyless });
    sample.run("config", "core.editor", "ed");
    writeFileSync(join(other.path, ".git/config"), sample.read("app/.git/config"));
    await other.switch("work");
    for (const key of ["user.signingKey", "gpg.format", "commit.gpgSign", "core.sshCommand"]) {
      assert.equal(other.config(key), "", key);
    }
    assert.equal(other.config("core.editor"), "ed");
  });

  it("keeps what somebody else has set, through several switches", async () => {
    const { sshKey: _, ...keyless } = WORK;
    using sample = new SampleIdentities({
      one: keyless,
      two: { ...keyless, email: "two@x.example" },
    });
    const own = {
      "core.sshCommand": "ssh -v",
      "credential.helper": "store",
      "user.signingKey": "MINE",
      "gpg.format": "ssh",
    };
    for (const [key, value] of Object.entries(own)) sample.run("config", key, value);
    for (const name of ["one", "two", "one"]) await sample.switch(name);
    for (const [key, value] of Object.entries(own)) assert.equal(sample.config(key), value, key);
  });

  it("does not sign with somebody else's key", async () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", "[commit]\n\tgpgsign = yes\n[user]\n\tsigningKey = STRANGER\n");
    await sample.switch("work");
    assert.equal(sample.config("commit.gpgSign"), "false");
  });

  it("is not overridden by author.email, or by a file that the repository includes", async () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", "[author]\n\temail = stranger@example.com\n");
    sample.write("app/.git/more", "[user]\n\temail = included@example.com\n");
    sample.run("config", "user.name", "Before");
    sample.run("config", "include.path", "more");
    await sample.switch("work");
    sample.run("commit", "-q", "--allow-empty", "-m", "x");
    const author = sample.run("log", "-1", "--format=%ae %ce");
    assert.equal(author, "ada@acme.example ada@acme.example");
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { withIdentity } from "../git-settings.ts";
import { SampleIdentities } from "../../../test/samples/sample-identities.ts";
import { identityStatus, readGitContext } from "./detect.ts";
import { Git } from "../../git/git.ts";

async function status(sample: SampleIdentities, env = sample.env) {
  const context = await readGitContext(new Git(sample.path, { env }));
  return await identityStatus(sample.identities, context, env);
}

describe("identityStatus()", { timeout: 60_000 }, () => {
  it("distinguishes the active identity from the matching one", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "git@github.com:acme/app");
    const before = await status(sample);
    assert.equal(before.current, undefined);
    assert.equal(before.isRight, false);
    await sample.switch("home");
    const wrong = await status(sample);
    assert.deepEqual(wrong.switched, { identity: "home", scope: "local" });
    assert.equal(wrong.current, "home");
    assert.equal(wrong.detected.identity, "work");
    assert.equal(wrong.isRight, false);
    assert.deepEqual(wrong.signing, {
      commits: true,
      tags: false,
      format: "openpgp",
      key: "ABCDEF0123456789",
    });
    await sample.switch("work");
    assert.equal((await status(sample)).isRight, true);
  });

  it("sees the identity of an environment first", async () => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    const found = await status(sample, withIdentity(sample.find("work"), sample.env));
    assert.deepEqual(found.switched, { identity: "work", scope: "command" });
    assert.equal(found.current, "work");
    assert.equal(found.author.email, "ada@acme.example");
    assert.equal(found.signing.commits, false);
  });

  it("knows no matching identity if none matches", async () => {
    using sample = new SampleIdentities();
    const { isRight, detected } = await status(sample);
    assert.equal(isRight, undefined);
    assert.equal(detected.identity, undefined);
  });
});

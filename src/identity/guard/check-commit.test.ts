import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { HOME, SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";
import { readGitContext, rightIdentity } from "../detect/detect.ts";
import type { AgentCommitRule } from "../agent-commits.ts";
import { checkCommit } from "./guard.ts";

/** What is wrong with a commit as somebody, by kind and words. */
async function problems(
  sample: SampleIdentities,
  name: string,
  env: NodeJS.ProcessEnv = {},
  rules: readonly AgentCommitRule[] = [],
) {
  const context = await readGitContext(sample.git);
  const right = await rightIdentity(sample.identities, context, env);
  const { identities } = sample;
  const found = await checkCommit({
    ...right,
    ...{ identity: sample.find(name), identities, context, env, rules },
  });
  return found.map(({ kind, says }) => `${kind}: ${says}`);
}

describe("checkCommit()", () => {
  it("finds no problem after a switch, and a wrong author and committer before it", async () => {
    using sample = new SampleIdentities();
    const [author = "", committer = ""] = await problems(sample, "work");
    assert.match(author, /^author: The author is .*Ada Lovelace <ada@acme\.example>/);
    assert.match(committer, /^committer: /);
    await sample.switch("work");
    assert.deepEqual(await problems(sample, "work"), []);
  });

  it("uses the variables that git gives a hook", async () => {
    using sample = new SampleIdentities();
    await sample.switch("work");
    const env = { GIT_AUTHOR_EMAIL: "ADA@acme.example", GIT_AUTHOR_NAME: "Ada Lovelace" };
    assert.deepEqual(await problems(sample, "work", env), []);
    const wrong = { ...env, GIT_AUTHOR_EMAIL: "ada@home.example" };
    assert.match((await problems(sample, "work", wrong)).join(), /^author: .*ada@home\.example/);
  });

  it("checks a name only if the identity has one of its own", async () => {
    const { displayName: _, ...unnamed } = WORK;
    using sample = new SampleIdentities({ work: WORK, other: unnamed });
    await sample.switch("work");
    const env = { GIT_AUTHOR_NAME: "Somebody" };
    assert.match((await problems(sample, "work", env)).join(), /^author: The author is Somebody/);
    assert.deepEqual(await problems(sample, "other", env), []);
  });

  it("allows picking other people's commits, but not under another identity of one's own", async () => {
    using sample = new SampleIdentities();
    await sample.switch("work");
    const by = (email: string) => ({ GIT_AUTHOR_NAME: "Bob", GIT_AUTHOR_EMAIL: email });
    assert.equal((await problems(sample, "work", by("bob@b.example"))).length, 1);
    sample.write("app/.git/CHERRY_PICK_HEAD", "");
    assert.deepEqual(await problems(sample, "work", by("bob@b.example")), []);
    assert.equal((await problems(sample, "work", by("ada@home.example"))).length, 1);
  });

  it("allows whom a rule for the repository names, as a whole, and in no other repository", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "https://github.com/acme/app");
    await sample.switch("work");
    const bot = { name: "Bot", email: "bot@acme.example" };
    const by = (author: string, committer: string) => ({
      ...{ GIT_AUTHOR_NAME: "Bot", GIT_AUTHOR_EMAIL: author },
      ...{ GIT_COMMITTER_NAME: "Ada Lovelace", GIT_COMMITTER_EMAIL: committer },
    });
    const rules = [{ repositories: [{ owner: "acme" }], author: bot }];
    const found = (author: string, committer: string, owner = "acme") =>
      problems(sample, "work", by(author, committer), [{ ...rules[0], repositories: [{ owner }] }]);
    assert.deepEqual(await found(bot.email, "ada@acme.example"), []);
    assert.equal((await found(bot.email, "ada@acme.example", "other")).length, 1);
    assert.equal((await found(bot.email, bot.email)).length, 2);
    assert.equal((await found("eve@acme.example", "ada@acme.example")).length, 1);
    assert.equal((await problems(sample, "work", by("", ""), rules)).length, 2);
  });

  it("recognises a signing key by its fingerprint and by the end of it", async () => {
    const signing = { format: "openpgp", key: "0123456789ABCDEF" } as const;
    using sample = new SampleIdentities({ home: { ...HOME, signing } });
    await sample.switch("home");
    assert.deepEqual(await problems(sample, "home"), []);
    sample.run("config", "user.signingKey", `0x${"A".repeat(24)}0123456789abcdef!`);
    assert.deepEqual(await problems(sample, "home"), []);
    sample.run("config", "user.signingKey", "89ABCDEF");
    assert.match((await problems(sample, "home")).join(), /^signer: /);
    sample.run("config", "commit.gpgSign", "false");
    assert.match((await problems(sample, "home")).join(), /^signer: Identity 'home' signs/);
  });
});

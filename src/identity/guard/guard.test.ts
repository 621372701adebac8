import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { HOME, SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";
import { readGitContext } from "../detect/detect.ts";
import { type GuardQuestion, judge } from "./guard.ts";

async function verdict(
  sample: SampleIdentities,
  question: GuardQuestion,
  more: Partial<Parameters<typeof judge>[1]> = {},
) {
  const { identities, env } = sample;
  const context = await readGitContext(sample.git);
  return await judge(question, { identities, context, env, ...more });
}

describe("judge()", () => {
  it("refuses if the identity of the repository cannot be determined", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "https://github.com/stranger/app");
    const { problems, identity, next } = await verdict(sample, { hook: "pre-commit" });
    assert.deepEqual([problems[0]?.kind, identity], ["identity", undefined]);
    assert.equal(next, "trunkline identity switch NAME");
  });

  it("uses the URL that git pushes to, not the remotes", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "git@gh-home:ada/app");
    await sample.switch("home", { keepSigning: true });
    const remote = { name: "x", url: "https://github.com/acme/app" };
    const { problems, identity, next } = await verdict(sample, { hook: "pre-push", remote });
    assert.equal(identity, "work");
    assert.match(problems[0]?.says ?? "", /push is for identity 'work', but 'home' is active/);
    assert.equal(next, "trunkline identity switch work");
  });

  it("never advises a switch that is made already, but to leave out what overrides it", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "https://github.com/acme/app");
    await sample.switch("work");
    const advice = async (variables: NodeJS.ProcessEnv, isSwitched = true) => {
      const more = { env: { ...sample.env, ...variables }, isSwitched: async () => isSwitched };
      return (await verdict(sample, { hook: "pre-commit" }, more)).next;
    };
    const other = { GIT_AUTHOR_EMAIL: "eve@b.example", GIT_AUTHOR_NAME: "Eve" };
    assert.match(await advice(other), /^leave out --author, -c, and variables/);
    assert.equal(await advice(other, false), "trunkline identity switch work");
    const exec = { ...other, TRUNKLINE_IDENTITY: "home" };
    assert.equal(await advice(exec), "trunkline identity exec work -- git …");
    assert.equal(await advice({}), "");
  });

  it("treats a check that fails to run as a problem", async () => {
    using sample = new SampleIdentities({ work: { provider: "github", sshHost: "gh-work" } });
    sample.run("remote", "add", "origin", "git@gh-work:acme/app");
    const { problems } = await verdict(sample, { hook: "pre-commit" });
    assert.match(problems.map(({ says }) => says).join(), /The check failed: .*has no email/);
  });

  it("says that a device needs a touch, if there is no other problem", async () => {
    const signing = { format: "openpgp", key: "ABCDEF0123456789", hardware: true } as const;
    using sample = new SampleIdentities({ home: { ...HOME, signing }, work: WORK });
    sample.run("remote", "add", "origin", "git@gh-home:ada/app");
    const before = await verdict(sample, { hook: "pre-commit" });
    assert.ok(before.problems.length > 0);
    assert.deepEqual(before.notes, []);
    await sample.switch("home");
    const after = await verdict(sample, { hook: "pre-commit" });
    assert.deepEqual(after.problems, []);
    assert.match(after.notes.join(), /touch it when it blinks/);
  });
});

import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { describe, it } from "node:test";

import { SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";
import { readGitContext, rightIdentity } from "../detect/detect.ts";
import { checkAccount } from "./guard.ts";

const SSH = "git@github.com:acme/app";
const HTTPS = "https://github.com/acme/app";

async function problems(sample: SampleIdentities, url: string, env: NodeJS.ProcessEnv = {}) {
  const context = await readGitContext(sample.git);
  const { identities } = sample;
  const right = await rightIdentity(identities, context, {});
  const own = { identity: sample.find("work"), identities, env: { ...sample.env, ...env } };
  return (await checkAccount({ ...right, ...own, context }, url)).map(({ says }) => says);
}

describe("checkAccount()", () => {
  it("asks ssh for its first key, unless git is configured to use the identity's", async () => {
    using sample = new SampleIdentities();
    assert.match((await problems(sample, SSH)).join(), /instead of the key of 'work'/);
    await sample.switch("work");
    assert.deepEqual(await problems(sample, SSH), []);
    const other = sample.write("other", "a key");
    const env = { GIT_SSH_COMMAND: `ssh -F none -i ${other} -o IdentitiesOnly=yes` };
    assert.match((await problems(sample, SSH, env)).join(), /\/other' instead of/);
  });

  it("refuses the right key if an agent may offer another before it", async () => {
    using sample = new SampleIdentities();
    const key = sample.write(".ssh/id_work", "a key");
    const shown = await problems(sample, SSH, { GIT_SSH_COMMAND: `ssh -F none -i ${key}` });
    assert.match(shown.join(), /offer the agent's keys before/);
    const only = { GIT_SSH_COMMAND: `ssh -F none -i ${key} -o IdentitiesOnly=yes -v` };
    assert.deepEqual(await problems(sample, SSH, only), []);
  });

  it("does not pass a host to ssh as an option", async () => {
    using sample = new SampleIdentities();
    const env = { GIT_SSH_COMMAND: "touch pwned; ssh" };
    const [says = ""] = await problems(sample, "ssh://-oProxyCommand=x/a/b", env);
    assert.match(says, /its host cannot be parsed/);
  });

  it("compares the user of a URL, and the account of the credential helper", async () => {
    using sample = new SampleIdentities();
    const stranger = await problems(sample, "https://mallory@github.com/acme/app");
    assert.match(stranger.join(), /user 'mallory', but 'work' is user 'ada-acme'/);
    assert.match((await problems(sample, HTTPS)).join(), /There is no credential for 'work'/);
    const helper = sample.write("helper", '#!/bin/sh\necho "username=$WHO"\necho password=x\n');
    chmodSync(helper, 0o755);
    sample.run("config", "credential.helper", helper);
    assert.deepEqual(await problems(sample, HTTPS, { WHO: "ada-acme" }), []);
    assert.match((await problems(sample, HTTPS, { WHO: "bob" })).join(), /log in as 'bob'/);
  });

  it("checks nothing for a path, or for an identity without a key", async () => {
    const { sshKey: _, ...keyless } = WORK;
    using sample = new SampleIdentities({ work: keyless });
    assert.deepEqual(await problems(sample, "/srv/app.git"), []);
    assert.deepEqual(await problems(sample, SSH), []);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { HOME, SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";
import { readGitContext, rightIdentity } from "../detect/detect.ts";
import type { AgentCommitRule } from "../agent-commits.ts";
import { checkPushed } from "./guard.ts";

const OTHER = { provider: "github", user: "else", email: "else@b.example" } as const;
const NONE = "0".repeat(40);

function commitAs(sample: SampleIdentities, author: string, committer = author): string {
  const env = {
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: author,
    GIT_COMMITTER_NAME: "C",
    GIT_COMMITTER_EMAIL: committer,
  };
  sample.runWith(sample.path, env, "commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", "x");
  return sample.run("rev-parse", "HEAD");
}

async function problems(
  sample: SampleIdentities,
  refs: string,
  rules: readonly AgentCommitRule[] = [],
) {
  const context = await readGitContext(sample.git);
  const right = await rightIdentity(sample.identities, context, {});
  const { identities, env } = sample;
  const known = { ...right, identity: sample.find("work"), identities, context, env, rules };
  const found = await checkPushed(known, refs);
  return found.map(({ kind, says }) => `${kind}: ${says}`);
}

describe("checkPushed()", () => {
  it("refuses commits of another identity, and unpublished ones of an unknown person", async () => {
    using sample = new SampleIdentities();
    commitAs(sample, "ada@acme.example");
    const wrong = commitAs(sample, "ADA@home.example");
    const foreign = commitAs(sample, "bob@b.example");
    const head = commitAs(sample, "bob@b.example", "ada@acme.example");
    const found = await problems(sample, `refs/heads/main ${head} refs/heads/main ${NONE}\n`);
    assert.deepEqual(found, [
      `author: One commit is made as 'home', but the push is for 'work': ${wrong.slice(0, 10)}.`,
      `committer: One commit is made by <bob@b.example>, which is not one of your identities, and not on any remote: ${foreign.slice(0, 10)}.`,
    ]);
  });

  it("allows commits of whom a rule names, and of those who sign only signed ones", async () => {
    const signing = { format: "openpgp", key: "ABCDEF0123456789" } as const;
    using sample = new SampleIdentities({ work: WORK, home: { ...HOME, signing }, other: OTHER });
    const author = { name: "Bot", email: "bot@b.example" };
    commitAs(sample, author.email, "ada@acme.example");
    const head = commitAs(sample, "else@b.example");
    const refs = `refs/heads/main ${head} refs/heads/main ${NONE}\n`;
    assert.equal((await problems(sample, refs, [{ author }])).length, 1);
    assert.deepEqual(await problems(sample, refs, [{ author }, { identity: "other" }]), []);
    const made = commitAs(sample, "ada@home.example");
    const more = `refs/heads/main ${made} refs/heads/main ${NONE}\n`;
    const found = await problems(sample, more, [{ identity: "home" }, { identity: "other" }]);
    assert.match(found.join(), /^signer: One commit is not signed, but identity 'home' signs/);
  });

  it("ignores commits that the remote has, and deleted branches", async () => {
    using sample = new SampleIdentities();
    const old = commitAs(sample, "ada@home.example");
    const head = commitAs(sample, "ada@acme.example");
    assert.deepEqual(
      await problems(sample, `refs/heads/main ${head} refs/heads/main ${old}\n`),
      [],
    );
    assert.deepEqual(await problems(sample, `(delete) ${NONE} refs/heads/main ${old}\n`), []);
    sample.run("update-ref", "refs/remotes/origin/main", old);
    assert.deepEqual(await problems(sample, `refs/heads/x ${head} refs/heads/x ${NONE}\n`), []);
  });

  it("shows three of many commits", async () => {
    using sample = new SampleIdentities();
    for (let count = 0; count < 4; count++) commitAs(sample, "ada@home.example");
    const head = sample.run("rev-parse", "HEAD");
    const [says = ""] = await problems(sample, `refs/heads/m ${head} refs/heads/m ${NONE}`);
    assert.match(says, /4 commits are made as 'home'.*: \w{10}, \w{10}, \w{10}, …\.$/);
  });

  it("requires signatures on commits of an identity that signs", async () => {
    const work = { ...WORK, signing: { format: "ssh", key: "/nowhere" } } as const;
    using sample = new SampleIdentities({ work });
    const head = commitAs(sample, "ada@acme.example");
    const [says = ""] = await problems(sample, `refs/heads/m ${head} refs/heads/m ${NONE}`);
    assert.match(says, /^signer: One commit is not signed/);
  });
});

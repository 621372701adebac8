import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

const ALICES = "token-of-alice-0123456789abcdef";
const BOBS = "token-of-bob-0123456789abcdefgh";

/** A rig in which these have tokens, and a clone of `repository` by HTTPS. */
async function withTokens(repository: string, names = ["alice"]) {
  await using starting = new AsyncDisposableStack();
  const rig = starting.use(await GitRig.start());
  const { host } = rig.forge;
  rig.configure({ identities: rig.identities({ alice: { host }, bob: { host } }) });
  rig.forge.tokens.set(ALICES, { account: "alice" });
  rig.forge.tokens.set(BOBS, { account: "bob" });
  for (const name of names) {
    const input = name === "alice" ? `${ALICES}\n` : BOBS;
    await rig.must(`trunkline identity token set ${name}`, { input });
  }
  rig.makeRepository(repository);
  const cwd = rig.makeClone("app", rig.httpsUrl(repository));
  starting.move();
  return { rig, cwd };
}

describe("trunkline identity credential", { timeout: 120_000, skip: WITHOUT_SSHD }, () => {
  it("has git push with the token of the identity in force, and of no other", async () => {
    const { rig, cwd } = await withTokens("team/app", ["alice", "bob"]);
    await using _rig = rig;
    await rig.must("trunkline identity switch alice", { cwd });
    await rig.must("git commit -q --allow-empty -m 1 && git push -q origin main", { cwd });
    await rig.must("trunkline identity switch bob", { cwd });
    await rig.must("git commit -q --allow-empty -m 2 && git push -q origin main", { cwd });
    assert.deepEqual(
      rig.pushes().map(({ account }) => account),
      ["alice", "bob"],
    );
  });

  it("lets git fail rather than use another's token, whatever other helpers know", async () => {
    const { rig, cwd } = await withTokens("team/app");
    await using _rig = rig;
    const host = rig.forge.host;
    const match = [{ owner: "team" }];
    rig.configure({ identities: rig.identities({ alice: { host }, bob: { host, match } }) });
    const helper = `!f() { echo username=bob; echo password=${BOBS}; }; f`;
    await rig.must(`git config --global credential.helper '${helper}'`, { cwd });
    const plan = JSON.parse(await rig.must("trunkline identity env alice --json")) as {
      readonly set: NodeJS.ProcessEnv;
    };
    await rig.must("git commit -q --allow-empty -m 1", { cwd, env: plan.set });
    const { code, err } = await rig.run("git push -q origin main", { cwd, env: plan.set });
    assert.equal(code, 128);
    assert.match(err, /is for 'bob', and 'alice' is in force/);
    assert.deepEqual(rig.pushes(), []);
    assert.ok(rig.forge.seen.every(({ account }) => account === undefined));
  });

  it("keeps tokens out of files, the record, what is printed and what others can see", async () => {
    const { rig, cwd } = await withTokens("alice/app");
    await using _rig = rig;
    const printed = [
      await rig.must("trunkline identity token get alice --json"),
      await rig.must("trunkline identity list --json"),
      await rig.must("trunkline identity env alice"),
      await rig.must("trunkline identity switch alice --dry-run", { cwd }),
      await rig.must("trunkline identity switch alice", { cwd }),
      await rig.must("trunkline identity status --json", { cwd }),
      await rig.must("trunkline identity token verify alice --json"),
    ];
    // On a command line it would be seen by all; there is no way to put it there.
    const given = await rig.run(`trunkline identity token set alice ${ALICES}`);
    assert.equal(given.code, 2);
    await rig.must("git commit -q --allow-empty -m 1 && git push -q origin main", { cwd });
    for (const text of [...printed, ...filesUnder(rig.root)]) {
      assert.ok(!text.includes(ALICES) && !text.includes(BOBS), text.slice(0, 200));
    }
    assert.match(printed[0] ?? "", /"toke••••••••cdef"/);
    assert.equal(statSync(join(rig.root, "data/identity/tokens.enc")).mode & 0o777, 0o600);
  });

  it("asks the forge whose a token is before it is stored, and when it expires", async () => {
    await using rig = await GitRig.start();
    const { host } = rig.forge;
    const gitlab = { provider: "gitlab", host };
    rig.configure({
      identities: rig.identities({ alice: gitlab, bob: { provider: "github", host } }),
    });
    rig.forge.tokens.set(ALICES, { account: "alice", scopes: "api", expires: "2999-01-31" });
    rig.forge.tokens.set(BOBS, { account: "bob", expires: "2020-01-31 10:00:00 UTC" });
    const wrong = await rig.run("trunkline identity token set bob", { input: ALICES });
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /it is that of 'alice', not of 'bob'/);
    const over = await rig.run("trunkline identity token set bob", { input: BOBS });
    assert.match(over.err, /it expired on 2020-01-31T10:00:00\.000Z/);
    const unknown = await rig.run("trunkline identity token set bob", {
      input: "not-a-token-of-bob",
    });
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /does not take the token \(401\)/);
    const good = await rig.must("trunkline identity token set alice --json", { input: ALICES });
    assert.equal((JSON.parse(good) as { expires: string }).expires, "2999-01-31T00:00:00.000Z");
    const verified = await rig.run("trunkline identity token verify --json");
    assert.equal(verified.code, 1, "bob has none");
    const { tokens } = JSON.parse(verified.out) as {
      tokens: { isOk: boolean; scopes?: string[] }[];
    };
    assert.deepEqual(
      tokens.map(({ isOk, scopes }) => [isOk, scopes]),
      [
        [true, ["api"]],
        [false, undefined],
      ],
    );
  });

  it("is refused by the guard when the push is by HTTPS as somebody else", async () => {
    const { rig, cwd } = await withTokens("team/app");
    await using _rig = rig;
    await rig.must("trunkline identity switch alice && trunkline identity guard install", { cwd });
    await rig.must("git commit -q --allow-empty -m 1", { cwd });
    const helper = `!f() { echo username=bob; echo password=${BOBS}; }; f`;
    const as = `git -c credential.helper= -c credential.helper='${helper}' push -q origin main`;
    const { code, err } = await rig.run(as, { cwd });
    assert.notEqual(code, 0);
    assert.match(err, /Git would log in as 'bob', and 'alice' is alice/);
    assert.deepEqual(rig.pushes(), []);
    await rig.must("git push -q origin main", { cwd });
    assert.equal(rig.pushes()[0]?.account, "alice");
  });
});

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}

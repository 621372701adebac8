// Long: git itself asks for credentials.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { ALICES, BOBS, CredentialClones } from "../support/git-rig/credential-clones.ts";
import type { GitRig } from "../support/git-rig/git-rig.ts";
import { COMMIT } from "../support/git-rig/guard-clones.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

describe("trunkline identity credential", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  let clones: CredentialClones;
  let rig: GitRig;

  before(async () => {
    clones = await CredentialClones.start();
    ({ rig } = clones);
  });

  after(() => clones[Symbol.asyncDispose]());

  it("lets git push with the token of the active identity, and with no other", async () => {
    const { cwd, pushers } = clones.make();
    for (const name of ["alice", "bob"]) {
      await rig.inProcess([`identity switch ${name}`], { cwd });
      await rig.must(`${COMMIT} && git push -q origin main`, { cwd });
    }
    assert.deepEqual(pushers(), ["alice", "bob"]);
  });

  it("uses a token that is stored after the switch, and git's own helpers until then", async () => {
    const { cwd, pushers } = clones.make();
    const env = { TRUNKLINE_DATA: join(rig.root, "late-data") };
    await rig.inProcess(["identity switch alice"], { cwd, env });
    await rig.must(COMMIT, { cwd });
    const helpers = () => rig.run("git config --get-all credential.helper", { cwd });
    assert.equal((await helpers()).out, "");
    await rig.must("trunkline identity token set alice", { env, input: ALICES });
    await rig.must("git push -q origin main", { cwd });
    assert.deepEqual(pushers(), ["alice"]);
    await rig.inProcess(["identity token clear alice"], { env });
    assert.equal((await helpers()).out, "");
  });

  it("clones as an identity, over HTTPS and SSH, which the clone keeps", async () => {
    const name = "team/cloned";
    rig.makeRepository(name);
    for (const [who, url] of [
      ["alice", rig.httpsUrl(name)],
      ["bob", rig.sshUrl(name)],
    ] as const) {
      const folder = join(rig.root, "clones", `of-${who}`);
      await rig.must(`trunkline identity clone ${who} ${url} ${folder}`);
      await rig.must(`${COMMIT} && git push -q origin HEAD:refs/heads/${who}`, { cwd: folder });
      assert.equal(await rig.must("git log -1 --format=%ae", { cwd: folder }), `${who}@rig.test`);
    }
    const pushed = rig.pushes().filter(({ repository }) => repository === name);
    assert.deepEqual(
      pushed.map(({ account }) => account),
      ["alice", "bob"],
    );
    const fetched = rig.sshAccess().filter((line) => line.includes("upload-pack"));
    assert.match(fetched.at(-1) ?? "", /^bob .*team\/cloned/);
    const missing = await rig.run(`trunkline identity clone alice ${rig.httpsUrl("team/none")}`);
    assert.notEqual(missing.code, 0);
  });

  it("runs one command as an identity, which ends as it is told to", async () => {
    const { cwd, pushers } = clones.make();
    const before = readFileSync(join(cwd, ".git/config"), "utf8");
    await rig.must(`trunkline identity exec bob -- ${COMMIT}`, { cwd });
    await rig.must("trunkline identity exec bob -- git push -q origin main", { cwd });
    assert.deepEqual(pushers(), ["bob"]);
    assert.equal(readFileSync(join(cwd, ".git/config"), "utf8"), before);
    const server = `sh -c 'echo "$GITEA_SERVER_URL $GITEA_SERVER_TOKEN"'`;
    const shown = await rig.must(`trunkline identity exec alice -- ${server}`);
    assert.equal(shown, `${rig.forge.url} ${ALICES}`);
    const waiting = `sh -c 'trap "exit 7" TERM; : > ready; while :; do sleep 0.1; done'`;
    const stopped = await rig.run(
      `trunkline identity exec alice -- ${waiting} & pid=$!
      until [ -e ready ]; do sleep 0.1; done; kill -TERM $pid; wait $pid`,
      { cwd },
    );
    assert.equal(stopped.code, 7, stopped.err);
  });

  it("keeps tokens out of files, the audit, output and other processes", async () => {
    const { cwd } = clones.make();
    const printed = [
      await rig.must("trunkline identity token verify alice --json"),
      ...(await rig.inProcess(
        [
          "identity token get alice --json",
          "identity switch alice",
          "identity list --json",
          "identity env alice",
          "identity switch alice --dry-run",
          "identity status --json",
        ],
        { cwd },
      )),
    ];
    // On a command line it would be seen by all; there is no way to put it there.
    const given = await rig.run(`trunkline identity token set alice ${ALICES}`);
    assert.equal(given.code, 2);
    await rig.must(`${COMMIT} && git push -q origin main`, { cwd });
    for (const text of [...printed, ...filesUnder(rig.root)]) {
      assert.ok(!text.includes(ALICES) && !text.includes(BOBS), text.slice(0, 200));
    }
    assert.match(printed[1] ?? "", /"toke••••••••cdef"/);
    assert.equal(statSync(join(rig.root, "data/identity/tokens.enc")).mode & 0o777, 0o600);
  });

  it("asks the forge whose a token is before it is stored, and when it expires", async () => {
    clones.configure({ alice: { provider: "gitlab" }, bob: { provider: "github" } });
    const env = { TRUNKLINE_DATA: join(rig.root, "without-tokens") };
    rig.forge.tokens.set(ALICES, { account: "alice", scopes: "api", expires: "2999-01-31" });
    rig.forge.tokens.set(BOBS, { account: "bob", expires: "2020-01-31 10:00:00 UTC" });
    const wrong = await rig.run("trunkline identity token set bob", { env, input: ALICES });
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /it belongs to 'alice', not to 'bob'/);
    const over = await rig.run("trunkline identity token set bob", { env, input: BOBS });
    assert.match(over.err, /it expired on 2020-01-31T10:00:00\.000Z/);
    const unknown = await rig.run("trunkline identity token set bob", {
      env,
      input: "not-a-token-of-bob",
    });
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /rejected the token \(401\)/);
    const good = await rig.must("trunkline identity token set alice --json", {
      env,
      input: ALICES,
    });
    assert.equal((JSON.parse(good) as { expires: string }).expires, "2999-01-31T00:00:00.000Z");
    const verified = await rig.run("trunkline identity token verify --json", { env });
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
});

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}

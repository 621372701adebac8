// Long: repositories with hooks, and many commits.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { readAudit } from "../support/read-audit.ts";
import type { GitRig } from "../support/git-rig/git-rig.ts";
import {
  COMMIT,
  COMMIT_PAST_IT,
  GUARD_ALICE,
  GuardClones,
} from "../support/git-rig/guard-clones.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

describe("trunkline identity guard", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  let clones: GuardClones;
  let rig: GitRig;

  before(async () => {
    clones = await GuardClones.start();
    ({ rig } = clones);
  });

  after(() => clones[Symbol.asyncDispose]());

  it("lets the right identity commit and push, with hooks that are found (RemoteJuggler defect 8)", async () => {
    const { name, cwd, pushes } = clones.guarded();
    await rig.must(`${COMMIT} && git push -q origin main`, { cwd });
    const head = await rig.must("git rev-parse HEAD", { cwd });
    assert.deepEqual(pushes(), [
      { account: "alice", repository: name, head, ref: "refs/heads/main" },
    ]);
    await rig.inProcess(["identity guard status"], { cwd });
  });

  it("makes gpg ask again for each commit in the mode of maximum security", async () => {
    const { cwd } = clones.make();
    const key = await rig.makeGpgKey("alice", "secret");
    rig.configure({
      identities: rig.identities({ alice: { signing: { format: "openpgp", key } } }),
    });
    await rig.inProcess(GUARD_ALICE, { cwd });
    const remember = `echo | gpg --batch --pinentry-mode loopback --passphrase secret -u ${key} -s -o /dev/null --yes`;
    const set = (mode: string) =>
      rig.inProcess([`tool call juggler_security_mode --args {"mode":"${mode}"}`], { cwd });
    await set("maximum_security");
    await rig.must(remember, { cwd });
    assert.notEqual((await rig.run(COMMIT, { cwd })).code, 0);
    await set("developer_workflow");
    await rig.must(`${remember} && ${COMMIT}`, { cwd });
  });

  it("refuses a commit by the wrong author, however it is set, and says what to do", async () => {
    const { cwd } = clones.guarded();
    const lines = [
      "git -c user.email=bob@rig.test commit -q --allow-empty -m x",
      "git commit -q --allow-empty -m x --author='Bob <bob@rig.test>'",
      "GIT_AUTHOR_EMAIL=bob@rig.test git commit -q --allow-empty -m x",
      "GIT_COMMITTER_EMAIL=operator@laptop git commit -q --allow-empty -m x",
      "git config user.email stranger@x.test && git commit -q --allow-empty -m x",
    ];
    for (const line of lines) {
      const { code, err } = await rig.run(line, { cwd });
      assert.equal(code, 1, line);
      assert.match(err, /trunkline guard refuses this commit/);
      assert.match(err, /alice@rig\.test/);
      // Only the last of them is not switched to alice any more.
      const isSwitched = line !== lines.at(-1);
      assert.match(
        err,
        isSwitched ? /To fix it: leave out --author/ : /To fix it: trunkline identity switch alice/,
      );
    }
    assert.notEqual(
      (await rig.run("git rev-parse HEAD", { cwd })).code,
      0,
      "nothing was committed",
    );
  });

  it("allows another identity and an agent's commits where a rule names them, and only there", async () => {
    const { cwd, pushes } = clones.guarded();
    const as = "trunkline identity exec bob -- ";
    const refused = await rig.run(as + COMMIT, { cwd });
    assert.equal(refused.code, 1);
    assert.match(refused.err, /To fix it: trunkline identity exec alice -- git …/);
    const agent = "git commit -q --allow-empty -m x --author='Codex <codex@rig.test>'";
    assert.equal((await rig.run(agent, { cwd })).code, 1);
    const repositories = [{ owner: "alice" }];
    const author = { name: "Codex", email: "codex@rig.test" };
    const agentCommits = [
      { repositories, agent: "claude", identity: "bob" },
      { repositories, author },
    ];
    rig.configure({ identities: rig.identities(), agentCommits });
    await rig.must(`${as}${COMMIT} && ${agent} && ${COMMIT}`, { cwd });
    await rig.must("git push -q origin main", { cwd });
    assert.equal(pushes().length, 1);
    assert.equal((await rig.run(agent, { cwd: clones.guarded("team").cwd })).code, 1);
  });

  it("refuses a push of commits that bypassed it, by another identity or a stranger", async () => {
    const { cwd, pushes } = clones.guarded();
    for (const email of ["bob@rig.test", "op@laptop"]) {
      await rig.must(`git -c user.email=${email} ${COMMIT_PAST_IT.slice(4)}`, { cwd });
    }
    const { code, err } = await rig.run("git push -q origin HEAD:refs/heads/main", { cwd });
    assert.notEqual(code, 0);
    assert.match(err, /One commit is made as 'bob'/);
    assert.match(err, /One commit is made by <op@laptop>, which is not one of your identities/);
    assert.deepEqual(pushes(), []);
  });

  it("allows one commit or push on request, once, and records it", async () => {
    const { cwd } = clones.guarded();
    const recorded = () => Array.fromAsync(readAudit(join(rig.root, "data")));
    const earlier = (await recorded()).length;
    const wrong = "git -c user.email=bob@rig.test commit -q --allow-empty -m x";
    await rig.inProcess(["identity guard allow --once --reason pairing"], { cwd });
    // What is right does not use it up.
    await rig.must(COMMIT, { cwd });
    const passed = await rig.run(wrong, { cwd });
    assert.equal(passed.code, 0);
    assert.match(passed.err, /allows this commit because of a pass \(pairing\)/);
    assert.equal((await rig.run(wrong, { cwd })).code, 1);
    assert.equal((await rig.run(`TRUNKLINE_GUARD=skip ${wrong}`, { cwd })).code, 0);
    assert.equal((await rig.run(wrong, { cwd })).code, 1);
    const told = (await recorded()).slice(earlier).map((entry) => {
      const { tool, outcome, arguments: args } = entry as Record<string, unknown>;
      return [tool, outcome, (args as { override?: string }).override];
    });
    assert.deepEqual(told, [
      ["identity.guard.allow", "ok", undefined],
      ["identity.guard", "ok", undefined],
      ["identity.guard", "ok", "a pass (pairing)"],
      ["identity.guard", "refused", undefined],
      ["identity.guard", "ok", "TRUNKLINE_GUARD=skip"],
      ["identity.guard", "refused", undefined],
    ]);
  });

  it("refuses if it is broken", async () => {
    const { cwd } = clones.guarded();
    writeFileSync(join(rig.root, "config.jsonc"), "{ not json");
    assert.equal((await rig.run(COMMIT, { cwd })).code, 1);
    rig.configure({ identities: {} });
    const unknown = await rig.run(COMMIT, { cwd });
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /no identity 'alice'/);
    const hook = join(cwd, ".git/hooks/pre-commit");
    writeFileSync(hook, readFileSync(hook, "utf8").replace(process.execPath, "/gone/node"));
    const gone = await rig.run(COMMIT, { cwd });
    assert.equal(gone.code, 1);
    assert.match(gone.err, /guard could not be run.*pre-commit/s);
  });

  it("runs the previous hooks, with their input, and restores them", async () => {
    const { name: repository, cwd } = clones.make();
    await rig.inProcess(["identity switch alice"], { cwd });
    const log = join(cwd, "hooks.log");
    const hooks = join(cwd, ".git/hooks");
    mkdirSync(hooks, { recursive: true });
    const texts = new Map<string, string>();
    for (const name of ["pre-commit", "pre-push"]) {
      const text = `#!/bin/sh\necho "${name} $* $(cat | wc -l | tr -d ' ')" >> ${log}\n`;
      texts.set(name, text);
      writeFileSync(join(hooks, name), text);
      chmodSync(join(hooks, name), 0o755);
    }
    await rig.inProcess(["identity guard install", "identity guard install"], { cwd });
    await rig.must(`${COMMIT} && git push -q origin main`, { cwd });
    const [first = "", second = ""] = readFileSync(log, "utf8").trim().split("\n");
    assert.match(first, /^pre-commit/);
    assert.equal(second, `pre-push origin ${rig.sshUrl(repository)} 1`);
    // A hook of theirs that refuses still refuses.
    writeFileSync(join(hooks, "pre-commit.before-trunkline"), "#!/bin/sh\nexit 3\n");
    assert.notEqual((await rig.run(COMMIT, { cwd })).code, 0);
    writeFileSync(join(hooks, "pre-commit.before-trunkline"), texts.get("pre-commit") ?? "");
    await rig.inProcess(["identity guard remove"], { cwd });
    for (const [name, text] of texts) assert.equal(readFileSync(join(hooks, name), "utf8"), text);
    assert.ok(!existsSync(join(hooks, "pre-merge-commit")));
    await rig.must("git -c user.email=x@y commit -q --allow-empty -m free", { cwd });
  });

  it("guards every work tree, each for its own identity", async () => {
    const { cwd } = clones.guarded("team");
    await rig.must(`${COMMIT_PAST_IT} && git worktree add -q ../second`, { cwd });
    const second = join(cwd, "../second");
    await rig.inProcess(["identity switch bob"], { cwd: second });
    await rig.must(COMMIT, { cwd: second });
    await rig.must(COMMIT, { cwd });
    assert.equal(await rig.must("git log -1 --format=%ae", { cwd: second }), "bob@rig.test");
    assert.equal(await rig.must("git log -1 --format=%ae", { cwd }), "alice@rig.test");
    const crossed = await rig.run("git -c user.email=alice@rig.test commit --allow-empty -m x", {
      cwd: second,
    });
    assert.equal(crossed.code, 1);
  });

  it("allows other people's work by cherry-pick and merge", async () => {
    const { cwd, pushes } = clones.guarded();
    await rig.must(`${COMMIT_PAST_IT} && git checkout -q -b theirs`, { cwd });
    const theirs = "git -c user.name=Carol -c user.email=carol@else.test";
    const make = (file: string) =>
      `echo 1 > ${file} && git add ${file} && ${theirs} commit -q --no-verify -m ${file}`;
    await rig.must(`${make("a")} && git checkout -q main && git cherry-pick theirs`, { cwd });
    const who = "git log -1 --format='%ae %ce'";
    assert.equal(await rig.must(who, { cwd }), "carol@else.test alice@rig.test");
    await rig.must("git push -q origin main", { cwd });
    assert.equal(pushes().length, 1);
    const merge = "merge -q --no-ff -m merged theirs";
    const { code, err } = await rig.run(`git -c user.email=bob@rig.test ${merge}`, { cwd });
    assert.equal(code, 1);
    assert.match(err, /trunkline guard refuses this commit/);
    await rig.must(`git merge --abort; git ${merge}`, { cwd });
    assert.equal(await rig.must(who, { cwd }), "alice@rig.test alice@rig.test");
  });
});

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { readAudit } from "../../src/store/read-audit.ts";
import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

const COMMIT = "git commit -q --allow-empty -m change";

/** A rig with a clone of `repository` that is switched to alice and guarded. */
async function guarded(repository = "alice/app", more: object = {}) {
  await using starting = new AsyncDisposableStack();
  const rig = starting.use(await GitRig.start());
  rig.configure({ identities: rig.identities({ alice: more }) });
  rig.makeRepository(repository);
  const cwd = rig.makeClone("app", rig.sshUrl(repository));
  await rig.must("trunkline identity switch alice && trunkline identity guard install", { cwd });
  starting.move();
  return { rig, cwd };
}

describe("trunkline identity guard", { timeout: 120_000, skip: WITHOUT_SSHD }, () => {
  it("lets the right identity commit and push, and the server sees it", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
    await rig.must(`${COMMIT} && git push -q origin main`, { cwd });
    const head = await rig.must("git rev-parse HEAD", { cwd });
    assert.deepEqual(rig.pushes(), [
      { account: "alice", repository: "alice/app", head, ref: "refs/heads/main" },
    ]);
    assert.equal((await rig.run("trunkline identity guard status", { cwd })).code, 0);
  });

  it("installs hooks that call a command that there is (RemoteJuggler defect 8)", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
    for (const hook of ["pre-commit", "pre-merge-commit", "pre-push"]) {
      const text = readFileSync(join(cwd, ".git/hooks", hook), "utf8");
      const [, line = ""] = /^(?:say \| )?('.*') "\$@"/m.exec(text) ?? [];
      const { code, out } = await rig.run(`${line} --help`, { cwd });
      assert.equal(code, 0, line);
      assert.match(out, /trunkline identity guard check HOOK/);
    }
  });

  it("has gpg ask again for each commit in the mode of maximum security", async () => {
    await using rig = await GitRig.start();
    const key = await rig.makeGpgKey("alice", "secret");
    rig.configure({
      identities: rig.identities({ alice: { signing: { format: "openpgp", key } } }),
    });
    rig.makeRepository("alice/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    await rig.must("trunkline identity switch alice && trunkline identity guard install", { cwd });
    const remember = `echo | gpg --batch --pinentry-mode loopback --passphrase secret -u ${key} -s -o /dev/null --yes`;
    const set = (mode: string) =>
      `trunkline tools call juggler_security_mode --args '{"mode":"${mode}"}'`;
    await rig.must(`${remember} && ${COMMIT}`, { cwd });
    await rig.must(`${set("maximum_security")} && ${remember}`, { cwd });
    assert.notEqual((await rig.run(COMMIT, { cwd })).code, 0);
    await rig.must(`${set("developer_workflow")} && ${remember} && ${COMMIT}`, { cwd });
  });

  it("refuses a commit by the wrong author, however it comes about, and says what to do", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
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
      assert.match(err, /To put it right: trunkline identity switch alice/);
    }
    assert.notEqual(
      (await rig.run("git rev-parse HEAD", { cwd })).code,
      0,
      "nothing was committed",
    );
  });

  it("refuses a push of commits that were made past it, by another identity or a stranger", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
    await rig.must(`git -c user.email=bob@rig.test commit -q --no-verify --allow-empty -m x`, {
      cwd,
    });
    const other = await rig.run("git push -q origin main", { cwd });
    assert.notEqual(other.code, 0);
    assert.match(other.err, /One commit is made as 'bob'/);
    await rig.must(`git -c user.email=op@laptop commit -q --no-verify --allow-empty -m y`, { cwd });
    const stranger = await rig.run("git push -q origin HEAD~0:refs/heads/main", { cwd });
    assert.match(stranger.err, /<op@laptop>, who is none of your identities/);
    assert.deepEqual(rig.pushes(), []);
  });

  it("refuses a push by the wrong account: another's key, or whatever key an agent has", async () => {
    const { rig, cwd } = await guarded("team/app");
    await using _rig = rig;
    await rig.must(COMMIT, { cwd });
    const wrong = { GIT_SSH_COMMAND: `ssh -i ${rig.ssh.keyOf("bob")} -o IdentitiesOnly=yes` };
    const { code, err } = await rig.run("git push -q origin main", { cwd, env: wrong });
    assert.notEqual(code, 0);
    assert.match(err, /ssh would show '.*id_bob' instead of the key of 'alice'/);
    const any = { GIT_SSH_COMMAND: `ssh -i ${rig.ssh.keyOf("alice")}` };
    const loose = await rig.run("git push -q origin main", { cwd, env: any });
    assert.notEqual(loose.code, 0);
    assert.match(loose.err, /any key that an agent has before the key of 'alice'/);
    assert.deepEqual(rig.pushes(), []);
  });

  it("refuses a push to a repository that is another identity's", async () => {
    await using rig = await GitRig.start();
    const identities = rig.identities({ bob: { organizations: ["team"] } });
    rig.configure({ identities });
    rig.makeRepository("alice/app");
    rig.makeRepository("team/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    await rig.must("trunkline identity switch alice && trunkline identity guard install", { cwd });
    await rig.must(COMMIT, { cwd });
    const { code, err } = await rig.run(`git push -q ${rig.sshUrl("team/app")} main`, { cwd });
    assert.notEqual(code, 0);
    assert.match(err, /The push is for identity 'bob', and 'alice' is in force/);
    assert.match(err, /One commit is made as 'alice'/);
    assert.deepEqual(rig.pushes(), []);
  });

  it("lets one through when somebody says so, once, and keeps a record of it", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
    const wrong = "git -c user.email=bob@rig.test commit -q --allow-empty -m x";
    assert.equal((await rig.run(wrong, { cwd })).code, 1);
    await rig.must("trunkline identity guard allow --once --reason 'pairing'", { cwd });
    // What is right does not use it up.
    await rig.must(COMMIT, { cwd });
    const passed = await rig.run(wrong, { cwd });
    assert.equal(passed.code, 0);
    assert.match(passed.err, /lets this commit through by a pass that was given \(pairing\)/);
    assert.equal((await rig.run(wrong, { cwd })).code, 1);
    assert.equal((await rig.run(`TRUNKLINE_GUARD=skip ${wrong}`, { cwd })).code, 0);
    assert.equal((await rig.run(wrong, { cwd })).code, 1);
    const entries = await Array.fromAsync(readAudit(join(rig.root, "data")));
    const told = entries.map((entry) => {
      const { tool, outcome, arguments: args } = entry as Record<string, unknown>;
      return [tool, outcome, (args as { override?: string }).override];
    });
    assert.deepEqual(told, [
      ["identity.guard", "refused", undefined],
      ["identity.guard.allow", "ok", undefined],
      ["identity.guard", "ok", undefined],
      ["identity.guard", "ok", "a pass that was given (pairing)"],
      ["identity.guard", "refused", undefined],
      ["identity.guard", "ok", "TRUNKLINE_GUARD=skip"],
      ["identity.guard", "refused", undefined],
    ]);
  });

  it("is closed when it is broken", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
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
    assert.match(gone.err, /guard could not be asked.*pre-commit/s);
  });

  it("runs the hooks that were there, with all they are told, and puts them back", async () => {
    await using rig = await GitRig.start();
    rig.configure({ identities: rig.identities() });
    rig.makeRepository("alice/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    await rig.must("trunkline identity switch alice", { cwd });
    const log = join(rig.root, "hooks.log");
    const hooks = join(cwd, ".git/hooks");
    mkdirSync(hooks, { recursive: true });
    const texts = new Map<string, string>();
    for (const name of ["pre-commit", "pre-push"]) {
      const text = `#!/bin/sh\necho "${name} $* $(cat | wc -l | tr -d ' ')" >> ${log}\n`;
      texts.set(name, text);
      writeFileSync(join(hooks, name), text);
      chmodSync(join(hooks, name), 0o755);
    }
    await rig.must("trunkline identity guard install && trunkline identity guard install", { cwd });
    await rig.must(`${COMMIT} && git push -q origin main`, { cwd });
    const [first = "", second = ""] = readFileSync(log, "utf8").trim().split("\n");
    assert.match(first, /^pre-commit/);
    assert.equal(second, `pre-push origin ${rig.sshUrl("alice/app")} 1`);
    // A hook of theirs that refuses still refuses.
    writeFileSync(join(hooks, "pre-commit.before-trunkline"), "#!/bin/sh\nexit 3\n");
    assert.notEqual((await rig.run(COMMIT, { cwd })).code, 0);
    writeFileSync(join(hooks, "pre-commit.before-trunkline"), texts.get("pre-commit") ?? "");
    await rig.must("trunkline identity guard remove", { cwd });
    for (const [name, text] of texts) assert.equal(readFileSync(join(hooks, name), "utf8"), text);
    assert.ok(!existsSync(join(hooks, "pre-merge-commit")));
    await rig.must("git -c user.email=x@y commit -q --allow-empty -m free", { cwd });
  });

  it("leaves a shared folder of hooks alone, and goes on with it", async () => {
    await using rig = await GitRig.start();
    rig.configure({ identities: rig.identities() });
    rig.makeRepository("alice/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    const shared = join(rig.home, "hooks");
    mkdirSync(shared);
    const log = join(rig.root, "hooks.log");
    for (const name of ["pre-commit", "commit-msg"]) {
      writeFileSync(join(shared, name), `#!/bin/sh\necho ${name} >> ${log}\n`);
      chmodSync(join(shared, name), 0o755);
    }
    await rig.must(`git config --global core.hooksPath ${shared}`, { cwd });
    await rig.must("trunkline identity switch alice && trunkline identity guard install", { cwd });
    await rig.must(COMMIT, { cwd });
    assert.equal(readFileSync(log, "utf8"), "pre-commit\ncommit-msg\n");
    assert.doesNotMatch(readFileSync(join(shared, "pre-commit"), "utf8"), /Trunkline/);
    const wrong = "git -c user.email=bob@rig.test commit -q --allow-empty -m x";
    assert.equal((await rig.run(wrong, { cwd })).code, 1);
    // Another repository is not guarded.
    const other = rig.makeClone("other", rig.sshUrl("alice/app"));
    await rig.must(`git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x`, {
      cwd: other,
    });
    await rig.must("trunkline identity guard remove", { cwd });
    assert.equal(await rig.must("git config core.hooksPath", { cwd }), shared);
    assert.equal((await rig.run("git config --local core.hooksPath", { cwd })).code, 1);
    await rig.must(wrong, { cwd });
  });

  it("guards every work tree, each for its own identity", async () => {
    const { rig, cwd } = await guarded("team/app");
    await using _rig = rig;
    await rig.must(`${COMMIT} && git worktree add -q ../second`, { cwd });
    const second = join(cwd, "../second");
    await rig.must("trunkline identity switch bob", { cwd: second });
    await rig.must(COMMIT, { cwd: second });
    await rig.must(COMMIT, { cwd });
    assert.equal(await rig.must("git log -1 --format=%ae", { cwd: second }), "bob@rig.test");
    assert.equal(await rig.must("git log -1 --format=%ae", { cwd }), "alice@rig.test");
    const crossed = await rig.run("git -c user.email=alice@rig.test commit --allow-empty -m x", {
      cwd: second,
    });
    assert.equal(crossed.code, 1);
  });

  it("lets work of others in by cherry-pick and merge, as itself", async () => {
    const { rig, cwd } = await guarded();
    await using _rig = rig;
    await rig.must(`${COMMIT} && git push -q origin main && git checkout -q -b theirs`, { cwd });
    const theirs = "-c user.name=Carol -c user.email=carol@else.test -c commit.gpgsign=false";
    await rig.must(`echo 1 > a && git add a && git ${theirs} commit -q --no-verify -m a`, { cwd });
    await rig.must(`git checkout -q main && git cherry-pick theirs && git push -q origin main`, {
      cwd,
    });
    const who = await rig.must("git log -1 --format='%ae %ce'", { cwd });
    assert.equal(who, "carol@else.test alice@rig.test");
  });
});

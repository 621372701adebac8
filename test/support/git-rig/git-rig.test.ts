import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GitRig } from "./git-rig.ts";
import { WITHOUT_SSHD } from "./ssh-server.ts";

describe("git rig", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  it("identifies by the key who pushes over ssh, and refuses others", async () => {
    await using rig = await GitRig.start();
    rig.makeRepository("alice/app");
    const clone = rig.makeClone("app", rig.sshUrl("alice/app"));
    const as = (account: string): NodeJS.ProcessEnv => ({
      GIT_SSH_COMMAND: `ssh -i ${rig.ssh.keyOf(account)} -o IdentitiesOnly=yes`,
    });
    await rig.must("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1", {
      cwd: clone,
    });
    const refused = await rig.run("git push -q origin main", { cwd: clone, env: as("bob") });
    assert.notEqual(refused.code, 0);
    assert.match(refused.err, /Repository not found/);
    await rig.must("git push -q origin main", { cwd: clone, env: as("alice") });
    assert.deepEqual(
      rig.pushes().map(({ account, repository }) => [account, repository]),
      [["alice", "alice/app"]],
    );
    const greeting = await rig.run(`ssh -T -i ${rig.ssh.keyOf("bob")} rig-bob`);
    assert.equal(greeting.code, 1);
    assert.match(greeting.err, /^Hi bob! You've successfully authenticated/);
  });

  it("identifies by the token who pushes over HTTPS", async () => {
    await using rig = await GitRig.start();
    rig.makeRepository("bob/app");
    rig.forge.tokens.set("token-of-bob", { account: "bob" });
    const clone = rig.makeClone("app", rig.httpsUrl("bob/app"));
    await rig.must("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1", {
      cwd: clone,
    });
    const refused = await rig.run("git push -q origin main", { cwd: clone });
    assert.notEqual(refused.code, 0);
    const helper = "!f() { echo username=x; echo password=token-of-bob; }; f";
    await rig.must(`git -c credential.helper='${helper}' push -q origin main`, { cwd: clone });
    assert.deepEqual(
      rig.pushes().map(({ account, repository }) => [account, repository]),
      [["bob", "bob/app"]],
    );
  });
});

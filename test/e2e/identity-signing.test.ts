// Long: gpg and ssh-agent sign.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

const COMMIT = "git commit -q --allow-empty -m change";

const GUARD_ALICE = ["identity switch alice", "identity guard install"];

describe("signed commits", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  it("verify with gpg after a switch, in a format that git accepts (RemoteJuggler defect 1)", async () => {
    await using rig = await GitRig.start();
    const key = await rig.makeGpgKey("alice");
    rig.configure({
      identities: rig.identities({ alice: { signing: { format: "openpgp", key } } }),
    });
    rig.makeRepository("alice/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    await rig.inProcess(GUARD_ALICE, { cwd });
    assert.equal(await rig.must("git config gpg.format", { cwd }), "openpgp");
    await rig.must(`${COMMIT} && git verify-commit HEAD && git push -q origin main`, { cwd });
    assert.equal(rig.pushes()[0]?.account, "alice");
  });

  it("verify with ssh", async () => {
    await using rig = await GitRig.start();
    const key = rig.makeSshKey("sign");
    rig.configure({ identities: rig.identities({ alice: { signing: { format: "ssh", key } } }) });
    rig.makeRepository("alice/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    await rig.inProcess(GUARD_ALICE, { cwd });
    await rig.must(COMMIT, { cwd });
    const shown = await rig.must("git log -1 --show-signature", { cwd });
    assert.match(shown, /Good "git" signature for alice@rig\.test/);
    await rig.must("git push -q origin main", { cwd });
  });

  it("are refused by the guard if they are unsigned, or signed with another's key", async () => {
    await using rig = await GitRig.start();
    const [own, other] = [rig.makeSshKey("own"), rig.makeSshKey("other")];
    rig.configure({
      identities: rig.identities({ alice: { signing: { format: "ssh", key: own } } }),
    });
    rig.makeRepository("alice/app");
    const cwd = rig.makeClone("app", rig.sshUrl("alice/app"));
    await rig.inProcess(GUARD_ALICE, { cwd });
    const off = await rig.run(`git -c commit.gpgSign=false commit -q --allow-empty -m x`, { cwd });
    assert.equal(off.code, 1);
    assert.match(off.err, /Identity 'alice' signs commits, but git is configured not to/);
    const strange = `git -c user.signingKey=${other} commit -q --allow-empty -m x`;
    const wrong = await rig.run(strange, { cwd });
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /Git would sign with ssh and '.*other'/);
    // Past the first hook, the push finds it.
    await rig.must("git commit -q --no-gpg-sign --allow-empty -m x", { cwd });
    const unsigned = await rig.run("git push -q origin main", { cwd });
    assert.match(unsigned.err, /One commit is not signed, but identity 'alice' signs/);
    await rig.must(
      `git -c user.signingKey=${other} commit -q --amend --no-verify --allow-empty -m y`,
      { cwd },
    );
    const forged = await rig.run("git push -q origin main", { cwd });
    assert.match(forged.err, /One commit is not signed with the key of 'alice'/);
    assert.deepEqual(rig.pushes(), []);
    await rig.must(`git commit -q --amend --allow-empty -m z && git push -q origin main`, { cwd });
    assert.equal(rig.pushes().length, 1);
  });
});

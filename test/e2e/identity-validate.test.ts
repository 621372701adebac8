// Long: logins at an SSH server.
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { describe, it } from "node:test";

import { GitRig } from "../support/git-rig/git-rig.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

const TOKEN = "token-of-alice-0123456789abcdef";

interface Report {
  readonly identities: readonly {
    readonly identity: string;
    readonly isOk: boolean;
    readonly findings: readonly {
      readonly outcome: string;
      readonly what: string;
      readonly says: string;
    }[];
  }[];
}

async function validate(rig: GitRig, more = "") {
  const { code, out } = await rig.run(`trunkline identity validate --json ${more}`);
  const { identities } = JSON.parse(out) as Report;
  const outcome = (name: string, what: string): string | undefined => {
    const found = identities.find(({ identity }) => identity === name);
    return found?.findings.find((each) => each.what === what)?.outcome;
  };
  return { code, identities, outcome };
}

describe("trunkline identity validate", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  it("logs in with ssh and asks the forge, and the server sees each identity as itself", async () => {
    await using rig = await GitRig.start();
    const { host } = rig.forge;
    rig.configure({
      identities: rig.identities({
        alice: { provider: "gitlab", host, sshHost: "rig-alice" },
        bob: { sshHost: "rig-bob", tokenSource: { kind: "none" } },
      }),
    });
    rig.forge.tokens.set(TOKEN, { account: "alice", scopes: "api", expires: "2999-01-01" });
    await rig.must("trunkline identity token set alice", { input: TOKEN });
    const { code, outcome } = await validate(rig);
    assert.equal(code, 0);
    for (const what of ["ssh-key", "ssh", "token", "api"])
      assert.equal(outcome("alice", what), "pass");
    assert.equal(outcome("bob", "ssh"), "pass");
    assert.equal(outcome("bob", "token"), "skip");
    assert.deepEqual(rig.sshAccess().toSorted(), ["alice greeting", "bob greeting"]);
  });

  it("fails for the key or the token of somebody else, and for a key that others may read", async () => {
    await using rig = await GitRig.start();
    const { host } = rig.forge;
    rig.configure({
      identities: rig.identities({
        alice: { sshHost: "rig-alice", sshKey: rig.ssh.keyOf("bob") },
        bob: { provider: "github", host, sshHost: "rig-bob" },
      }),
    });
    rig.forge.tokens.set(TOKEN, { account: "alice" });
    await rig.must("trunkline identity token set bob --no-verify", { input: TOKEN });
    const wrong = await validate(rig);
    assert.equal(wrong.code, 1);
    assert.equal(wrong.outcome("alice", "ssh"), "fail");
    assert.equal(wrong.outcome("bob", "api"), "fail");
    const says = JSON.stringify(wrong.identities);
    assert.match(says, /the key belongs to 'bob', not to 'alice'/);
    assert.match(says, /The token belongs to 'alice', not to 'bob'/);
    chmodSync(rig.ssh.keyOf("bob"), 0o644);
    const open = await validate(rig, "bob --offline");
    assert.equal(open.outcome("bob", "ssh-key"), "fail");
    assert.equal(open.outcome("bob", "ssh"), "skip");
  });

  it("does not wait for a silent forge, nor for a host that does not exist", async () => {
    await using rig = await GitRig.start();
    const { host } = rig.forge;
    rig.configure({
      identities: rig.identities({
        alice: { provider: "gitlab", host, sshHost: "rig-alice" },
        bob: { host: "host.invalid" },
      }),
    });
    await rig.must("trunkline identity token set alice --no-verify", { input: TOKEN });
    rig.forge.isSilent = true;
    const { code, outcome, identities } = await validate(rig);
    assert.equal(code, 1);
    assert.equal(outcome("alice", "ssh"), "pass");
    assert.equal(outcome("alice", "api"), "fail");
    assert.match(JSON.stringify(identities), /did not answer within 10000 ms/);
    assert.equal(outcome("bob", "ssh"), "fail");
  });

  it("reports wrong usage in plain words", async () => {
    await using rig = await GitRig.start();
    rig.configure({ identities: rig.identities() });
    const unknown = await rig.run("trunkline identity validate alcie");
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /There is no identity 'alcie'\. Did you mean 'alice'\?/);
  });
});

describe("trunkline identity gpg", { timeout: 600_000, skip: WITHOUT_SSHD }, () => {
  it("exits with 0 only if an agent can sign without a person", async () => {
    await using rig = await GitRig.start();
    const key = rig.makeSshKey("sign", "a passphrase");
    const alices = await rig.makeGpgKey("alice");
    rig.configure({
      identities: rig.identities({
        alice: { signing: { format: "openpgp", key: alices } },
        bob: { signing: { format: "ssh", key } },
      }),
    });
    assert.equal((await rig.run("trunkline identity gpg alice")).code, 0);
    const locked = await rig.run("trunkline identity gpg bob --json");
    assert.equal(locked.code, 1);
    const { canSign, guidance } = JSON.parse(locked.out) as { canSign: boolean; guidance: string };
    assert.equal(canSign, false);
    assert.match(guidance, /ssh-add/);
  });
});

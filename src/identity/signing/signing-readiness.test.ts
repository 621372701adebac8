import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Git } from "../../git/git.ts";
import { resolveIdentity, type Signing } from "../identity.ts";
import { signerOf, signingKeysOf } from "./commit-signer.ts";
import { SampleGpg } from "../../../test/samples/sample-gpg.ts";
import { asker, signingReadiness } from "./signing-readiness.ts";

function identity(signing: Signing | undefined, more: object = {}) {
  const base = { provider: "github", user: "ada", email: "ada@rig.test" } as const;
  return resolveIdentity("work", { ...base, ...(signing && { signing }), ...more });
}

const isMissing = (() => {
  try {
    execFileSync("gpg", ["--version"]);
    return false;
  } catch {
    return "gpg is missing: apt-get install gnupg";
  }
})();

/** Lines of a key that lives in a device. */
const ON_DEVICE = [
  "sec:u:256:22:1122334455667788:1700000000:::u:::scESC:::D2760001240103040006123456780000::ed25519:::0:",
  "fpr:::::::::AAAABBBBCCCCDDDDEEEEFFFF1122334455667788:",
].join("\\n");

describe("signingReadiness()", { skip: isMissing }, () => {
  it("says that an identity without signing need not wait", async () => {
    const ready = await signingReadiness(identity(undefined), { env: process.env });
    assert.deepEqual([ready.format, ready.canSign], [undefined, true]);
  });

  it("finds that gpg signs with a key that is open", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test");
    const ready = await signingReadiness(identity({ format: "openpgp" }), { env: gpg.env });
    assert.equal(ready.canSign, true);
    assert.match(ready.key ?? "", /^[0-9A-F]{40}$/);
    assert.deepEqual([ready.hardware, ready.needsTouch], [false, false]);
  });

  it("does not hang on a key that is locked, and says what to do", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test", "secret");
    gpg.run("gpgconf", "--reload", "gpg-agent");
    const ready = await signingReadiness(identity({ format: "openpgp" }), { env: gpg.env });
    assert.equal(ready.canSign, false);
    assert.match(ready.says, /locked: its passphrase/);
    assert.match(ready.guidance, /Ask the person/);
  });

  it("says so of a key that is not there", async () => {
    using gpg = new SampleGpg();
    const ready = await signingReadiness(identity({ format: "openpgp" }), { env: gpg.env });
    assert.deepEqual([ready.isFound, ready.canSign], [false, false]);
    assert.match(ready.says, /no secret key for 'ada@rig\.test'/);
  });

  it("takes no name of a key for an option", async () => {
    using gpg = new SampleGpg();
    const signing = { format: "openpgp", key: "--version" } as const;
    const ready = await signingReadiness(identity(signing), { env: gpg.env });
    assert.equal(ready.isFound, false);
  });

  it("gives up on a gpg that does not answer", async () => {
    using gpg = new SampleGpg();
    gpg.standIn("gpg", "exec sleep 60");
    const ready = await signingReadiness(identity({ format: "openpgp" }), {
      env: gpg.env,
      timeout: 200,
    });
    assert.equal(ready.canSign, false);
    assert.match(ready.says, /did not answer in time/);
    assert.match(ready.guidance, /would hang/);
  });

  it("says beforehand that a device wants a touch, and does not try", async () => {
    using gpg = new SampleGpg();
    const log = join(gpg.path, "log");
    gpg.standIn(
      "gpg",
      `echo "$*" >> ${log}
case "$*" in
  *--list-secret-keys*) printf '${ON_DEVICE}\\n' ;;
  *--card-status*) printf 'Reader:Yubico:\\nuif:1:0:0:\\n' ;;
  *) exec sleep 60 ;;
esac`,
    );
    const ready = await signingReadiness(identity({ format: "openpgp" }), { env: gpg.env });
    assert.deepEqual([ready.hardware, ready.needsTouch, ready.canSign], [true, true, false]);
    assert.match(ready.guidance, /touch the device when it blinks/);
    assert.doesNotMatch(readFileSync(log, "utf8"), /--detach-sign/);
  });

  it("says that a device is not connected", async () => {
    using gpg = new SampleGpg();
    gpg.standIn(
      "gpg",
      `case "$*" in *--list-secret-keys*) printf '${ON_DEVICE}\\n' ;; *) exit 2 ;; esac`,
    );
    const ready = await signingReadiness(identity({ format: "openpgp" }), { env: gpg.env });
    assert.match(ready.says, /is not connected/);
  });

  it("tries a key of ssh's, open and locked", async () => {
    using gpg = new SampleGpg();
    const open = gpg.makeSshKey("open");
    const locked = gpg.makeSshKey("locked", "secret");
    const options = { env: gpg.env };
    const one = await signingReadiness(identity({ format: "ssh", key: open }), options);
    assert.equal(one.canSign, true);
    assert.match(one.key ?? "", /^SHA256:/);
    const other = await signingReadiness(identity({ format: "ssh", key: locked }), options);
    assert.equal(other.canSign, false);
    assert.match(other.guidance, /ssh-add/);
    const none = await signingReadiness(identity({ format: "ssh", key: "/nowhere" }), options);
    assert.equal(none.isFound, false);
  });

  it("knows by its type that a key of ssh's is in a device", async () => {
    using gpg = new SampleGpg();
    const file = join(gpg.path, "id_sk.pub");
    writeFileSync(file, `${skPublicKey()} key\n`);
    const ready = await signingReadiness(identity({ format: "ssh", key: file }), { env: gpg.env });
    assert.deepEqual([ready.hardware, ready.needsTouch, ready.canSign], [true, true, false]);
  });
});

describe("signerOf()", { skip: isMissing }, () => {
  it("tells who signed a commit, with gpg and with ssh, in any encoding", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test");
    const key = gpg.makeSshKey("id");
    gpg.run("git", "init", "-q", "repo");
    const folder = join(gpg.path, "repo");
    const commit = (format: string, signingKey: string, message: string, sign = true): string => {
      const config = [`gpg.format=${format}`, `user.signingKey=${signingKey}`, "user.name=Ada"];
      const more = ["user.email=ada@rig.test", "i18n.commitEncoding=latin1"];
      const options = [...config, ...more].flatMap((each) => ["-c", each]);
      const args = ["commit", "-q", "--allow-empty", "-m", message, ...(sign ? ["-S"] : [])];
      gpg.run("git", "-C", folder, ...options, ...args);
      return gpg.run("git", "-C", folder, "rev-parse", "HEAD").trim();
    };
    const byGpg = commit("openpgp", "ada@rig.test", "caf\u00e9");
    const bySsh = commit("ssh", key, "caf\u00e9\n\nmore");
    const byNobody = commit("openpgp", "", "plain", false);
    const git = new Git(folder, { env: gpg.env });
    const ask = asker({ env: gpg.env });
    const pgp = identity({ format: "openpgp" });
    const ssh = identity({ format: "ssh", key });
    const keysOf = async (who: typeof pgp) => await signingKeysOf(who, who.signing as Signing, ask);
    const signer = await signerOf(git, byGpg, ask);
    assert.ok(typeof signer === "object" && signer.keys.includes((await keysOf(pgp))[0] ?? "-"));
    assert.deepEqual(await signerOf(git, bySsh, ask), { keys: await keysOf(ssh) });
    assert.equal(await signerOf(git, byNobody, ask), "nobody");
  });
});

/** A public key of the kind that FIDO devices have. */
function skPublicKey(): string {
  const part = (bytes: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const type = "sk-ssh-ed25519@openssh.com";
  const blob = [Buffer.from(type), Buffer.alloc(32, 7), Buffer.from("ssh:")].map(part);
  return `${type} ${Buffer.concat(blob).toString("base64")}`;
}

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { GPG_IS_MISSING, SampleGpg, signer } from "../../../test/samples/sample-gpg.ts";
import { signingReadiness } from "./signing-readiness.ts";

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

describe("sshReadiness()", { skip: GPG_IS_MISSING }, () => {
  it("tests an SSH key, unlocked and locked", async () => {
    using gpg = new SampleGpg();
    const open = gpg.makeSshKey("open");
    const locked = gpg.makeSshKey("locked", "secret");
    const options = { env: gpg.env };
    const one = await signingReadiness(signer({ format: "ssh", key: open }), options);
    assert.equal(one.canSign, true);
    assert.match(one.key ?? "", /^SHA256:/);
    const other = await signingReadiness(signer({ format: "ssh", key: locked }), options);
    assert.equal(other.canSign, false);
    assert.match(other.guidance, /ssh-add/);
    const none = await signingReadiness(signer({ format: "ssh", key: "/nowhere" }), options);
    assert.equal(none.isFound, false);
  });

  it("recognises by its type that an SSH key is on a device", async () => {
    using gpg = new SampleGpg();
    const file = join(gpg.path, "id_sk.pub");
    writeFileSync(file, `${skPublicKey()} key\n`);
    const ready = await signingReadiness(signer({ format: "ssh", key: file }), { env: gpg.env });
    assert.deepEqual([ready.hardware, ready.needsTouch, ready.canSign], [true, true, false]);
  });
});

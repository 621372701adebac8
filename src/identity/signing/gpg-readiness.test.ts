import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { GPG_IS_MISSING, SampleGpg, signer } from "../../../test/samples/sample-gpg.ts";
import { signingReadiness } from "./signing-readiness.ts";

/** Lines of a key that lives in a device. */
const ON_DEVICE = [
  "sec:u:256:22:1122334455667788:1700000000:::u:::scESC:::D2760001240103040006123456780000::ed25519:::0:",
  "fpr:::::::::AAAABBBBCCCCDDDDEEEEFFFF1122334455667788:",
].join("\\n");

describe("gpgReadiness()", { skip: GPG_IS_MISSING }, () => {
  it("reports that gpg can sign with an unlocked key", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test");
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.equal(ready.canSign, true);
    assert.match(ready.key ?? "", /^[0-9A-F]{40}$/);
    assert.deepEqual([ready.hardware, ready.needsTouch], [false, false]);
  });

  it("does not block on a locked key, and says what to do", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test", "secret");
    gpg.run("gpgconf", "--reload", "gpg-agent");
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.equal(ready.canSign, false);
    assert.match(ready.says, /locked: its passphrase/);
    assert.match(ready.guidance, /Ask the person/);
  });

  it("reports a missing key", async () => {
    using gpg = new SampleGpg();
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.deepEqual([ready.isFound, ready.canSign], [false, false]);
    assert.match(ready.says, /no secret key for 'ada@rig\.test'/);
  });

  it("does not treat the name of a key as an option", async () => {
    using gpg = new SampleGpg();
    const signing = { format: "openpgp", key: "--version" } as const;
    const ready = await signingReadiness(signer(signing), { env: gpg.env });
    assert.equal(ready.isFound, false);
  });

  it("reports that a device needs a touch, without trying to sign", async () => {
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
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.deepEqual([ready.hardware, ready.needsTouch, ready.canSign], [true, true, false]);
    assert.match(ready.guidance, /touch the device when it blinks/);
    assert.doesNotMatch(readFileSync(log, "utf8"), /--detach-sign/);
  });

  it("reports that a device is not connected", async () => {
    using gpg = new SampleGpg();
    gpg.standIn(
      "gpg",
      `case "$*" in *--list-secret-keys*) printf '${ON_DEVICE}\\n' ;; *) exit 2 ;; esac`,
    );
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.match(ready.says, /is not connected/);
  });
});

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
  it("finds that gpg signs with a key that is open", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test");
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.equal(ready.canSign, true);
    assert.match(ready.key ?? "", /^[0-9A-F]{40}$/);
    assert.deepEqual([ready.hardware, ready.needsTouch], [false, false]);
  });

  it("does not hang on a key that is locked, and says what to do", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test", "secret");
    gpg.run("gpgconf", "--reload", "gpg-agent");
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.equal(ready.canSign, false);
    assert.match(ready.says, /locked: its passphrase/);
    assert.match(ready.guidance, /RunQuietly the person/);
  });

  it("says so of a key that is not there", async () => {
    using gpg = new SampleGpg();
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.deepEqual([ready.isFound, ready.canSign], [false, false]);
    assert.match(ready.says, /no secret key for 'ada@rig\.test'/);
  });

  it("takes no name of a key for an option", async () => {
    using gpg = new SampleGpg();
    const signing = { format: "openpgp", key: "--version" } as const;
    const ready = await signingReadiness(signer(signing), { env: gpg.env });
    assert.equal(ready.isFound, false);
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
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
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
    const ready = await signingReadiness(signer({ format: "openpgp" }), { env: gpg.env });
    assert.match(ready.says, /is not connected/);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GPG_IS_MISSING, SampleGpg, signer } from "../../../test/samples/sample-gpg.ts";
import { signingReadiness } from "./signing-readiness.ts";

describe("signingReadiness()", { skip: GPG_IS_MISSING }, () => {
  it("reports that an identity does not sign", async () => {
    const ready = await signingReadiness(signer(undefined), { env: process.env });
    assert.deepEqual([ready.format, ready.canSign], [undefined, true]);
  });

  it("stops waiting for a gpg that does not answer", async () => {
    using gpg = new SampleGpg();
    gpg.standIn("gpg", "exec sleep 60");
    const ready = await signingReadiness(signer({ format: "openpgp" }), {
      env: gpg.env,
      timeout: 200,
    });
    assert.equal(ready.canSign, false);
    assert.match(ready.says, /did not answer in time/);
    assert.match(ready.guidance, /would hang/);
  });
});

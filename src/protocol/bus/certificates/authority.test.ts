import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";

import { issueAuthority, newKey } from "./issue.ts";
import {
  assertRefused,
  greet,
  SampleCertificates,
} from "../../../../test/samples/sample-certificates.ts";

const DAY = 24 * 60 * 60_000;

describe("certificates of an authority", () => {
  it("are reported if another authority signed them, or none can sign", async () => {
    await using sample = await SampleCertificates.create();
    await using elsewhere = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    const theirs = await elsewhere.open().credentialsFor("a");
    await sample.age("ca.crt", "ca.key");
    await sample.put("a.crt", theirs.cert);
    await sample.put("a.key", theirs.key);
    await assertRefused(sample, "a", /'.*a\.crt' is not signed by the authority in '.*ca\.crt'/);
    await sample.put("ca.crt", theirs.cert);
    await sample.put("ca.key", theirs.key);
    await assertRefused(sample, "a", /the first certificate in '.*ca\.crt' is not an authority's/);
  });

  it("are used without the authority's key while they are valid, but not created", async () => {
    await using sample = await SampleCertificates.create();
    const made = await sample.open().credentialsFor("a");
    await sample.age("ca.crt", "a.crt", "a.key");
    await rm(sample.file("ca.key"));
    assert.deepEqual(await sample.open().credentialsFor("a"), made);
    await assertRefused(sample, "b", /Cannot make '.*b\.crt': '.*ca\.key' is not there/);
    const late = Date.now() + 350 * DAY;
    assert.deepEqual(await sample.open({ now: () => late }).credentialsFor("a"), made);
    assert.equal(sample.warnings.length, 2);
    assert.match(sample.warnings[1] ?? "", /a\.crt' should be renewed, since it expires on \d{4}-/);
    const tooLate = Date.now() + 366 * DAY;
    await assert.rejects(sample.open({ now: () => tooLate }).credentialsFor("a"), {
      message: /ca\.crt' expired on .* and cannot be renewed: '.*ca\.key' is not there/,
    });
  });

  it("are made for who only connects once somebody else has made the authority", async () => {
    await using sample = await SampleCertificates.create();
    const client = sample.open({ makesAuthority: false });
    await assert.rejects(client.credentialsFor("a"), {
      name: "TrunklineError",
      code: "config",
      message:
        /There is no authority in '.*certs': 'ca\.crt' is missing\. The orchestrator makes it.*--certs-dir/,
    });
    assert.equal(existsSync(sample.path), false);
    const { ca: caPem } = await sample.open().credentialsFor("b");
    assert.equal((await client.credentialsFor("a")).ca, caPem);
  });

  it("are valid under the old and the new authority when it is renewed", async () => {
    await using sample = await SampleCertificates.create();
    const early = Date.now() - 280 * DAY;
    const old = await sample.open({ now: () => early }).credentialsFor("a");
    const fresh = await sample.open().credentialsFor("b");
    assert.notEqual(fresh.ca, old.ca);
    const [oldCa, newCa] = [new X509Certificate(old.ca), new X509Certificate(fresh.ca)];
    assert.ok(newCa.validToDate.getTime() > oldCa.validToDate.getTime());
    for (const leaf of [new X509Certificate(old.cert), new X509Certificate(fresh.cert)]) {
      for (const ca of [oldCa, newCa]) {
        assert.ok(leaf.checkIssued(ca) && leaf.verify(ca.publicKey));
      }
    }
    // A program that still has the old authority in mind, and one that has read the new.
    assert.equal(await greet(old, fresh), "b");
    assert.equal(await greet(fresh, old), "a");
    assert.equal(await sample.text("ca.crt"), fresh.ca);
  });

  it("keep trusting other authorities when their own is renewed", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    const other = issueAuthority(createPrivateKey(newKey()), Date.now());
    await sample.put("ca.crt", (await sample.text("ca.crt")) + other);
    const late = Date.now() + 280 * DAY;
    const { ca: caPem } = await sample.open({ now: () => late }).credentialsFor("a");
    assert.equal(caPem.match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.ok(caPem.endsWith(other));
  });
});

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";

import { SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

const DAY = 24 * 60 * 60_000;

describe("certificates due for renewal", () => {
  it("are renewed a month before they expire, with their key and their names", async () => {
    await using sample = await SampleCertificates.create();
    const old = await sample.open().credentialsFor("a", { hosts: ["box.lan"] });
    const later = Date.now() + 274 * DAY;
    assert.deepEqual(await sample.open({ now: () => later }).credentialsFor("a"), old);
    const late = Date.now() + 336 * DAY;
    const renewed = await sample.open({ now: () => late }).credentialsFor("a");
    assert.equal(renewed.key, old.key);
    const [first, last] = [old, renewed].map(({ cert }) => new X509Certificate(cert).validToDate);
    assert.ok(Number(last) > Number(first) + 300 * DAY);
    assert.equal(new X509Certificate(renewed.cert).checkHost("box.lan"), "box.lan");
  });

  it("are renewed if they need another host name", async () => {
    await using sample = await SampleCertificates.create();
    const old = await sample.open().credentialsFor("a");
    const hosts = ["192.168.1.9", "fe80::1", "box.lan"];
    const renewed = await sample.open().credentialsFor("a", { hosts });
    assert.equal(renewed.key, old.key);
    const leaf = new X509Certificate(renewed.cert);
    assert.equal(leaf.checkIP("192.168.1.9"), "192.168.1.9");
    assert.equal(leaf.checkIP("fe80::1"), "fe80::1");
    assert.equal(leaf.checkHost("box.lan"), "box.lan");
    assert.equal(leaf.checkHost("localhost"), "localhost");
    assert.deepEqual(await sample.open().credentialsFor("a", { hosts }), renewed);
  });
});

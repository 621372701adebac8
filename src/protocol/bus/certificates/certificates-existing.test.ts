import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { issueAuthority, issueLeaf, newKey } from "./issue.ts";
import { greet, SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

const DAY = 24 * 60 * 60_000;
const noOpenssl = spawnSync("openssl", ["version"]).status !== 0 && "openssl is not installed";

describe("Certificates that exist", () => {
  for (const [kind, key] of [
    ["P-256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" })],
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 })],
  ] as const) {
    it(`are used, and sign others, with a key of kind ${kind}`, async () => {
      await using sample = await SampleCertificates.create();
      const caPem = await issueAuthority(key.privateKey, Date.now());
      const keyPem = key.privateKey.export({ type: "pkcs8", format: "pem" });
      await sample.put("ca.crt", caPem);
      await sample.put("ca.key", keyPem);
      const made = await sample.open().credentialsFor("a");
      assert.equal(made.caPem, caPem);
      const leaf = new X509Certificate(made.certPem);
      assert.ok(leaf.verify(key.publicKey));
      const signer = { certificate: new X509Certificate(caPem), key: key.privateKey };
      const options = { name: "b", key: key.privateKey, hosts: [], now: Date.now() };
      await sample.put("b.crt", await issueLeaf(signer, options));
      await sample.put("b.key", keyPem);
      assert.equal((await sample.open().credentialsFor("b")).keyPem, keyPem);
    });
  }

  it(
    "are those of openssl, too, which are renewed under their own name",
    { skip: noOpenssl },
    async () => {
      await using sample = await SampleCertificates.create();
      await mkdir(sample.path, { mode: 0o700 });
      const subject = ["-subj", "/C=DE/O=Ünï/CN=Some CA", "-utf8", "-days", "60"];
      const files = ["-keyout", sample.file("ca.key"), "-out", sample.file("ca.crt")];
      const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...subject, ...files];
      execFileSync("openssl", args, { stdio: "ignore" });
      const before = await sample.text("ca.crt");
      const { caPem } = await sample.open().credentialsFor("a");
      assert.notEqual(caPem, before);
      assert.equal(new X509Certificate(caPem).subject, new X509Certificate(before).subject);
      await sample.put("before.crt", before);
      for (const ca of ["ca.crt", "before.crt"]) {
        const verify = ["verify", "-CAfile", sample.file(ca), sample.file("a.crt")];
        assert.match(execFileSync("openssl", verify, { encoding: "utf8" }), /: OK\n$/);
      }
    },
  );

  it("are renewed a month before they expire, with their key and their names", async () => {
    await using sample = await SampleCertificates.create();
    const old = await sample.open().credentialsFor("a", { hosts: ["box.lan"] });
    const later = Date.now() + 274 * DAY;
    assert.deepEqual(await sample.open({ now: () => later }).credentialsFor("a"), old);
    const late = Date.now() + 336 * DAY;
    const renewed = await sample.open({ now: () => late }).credentialsFor("a");
    assert.equal(renewed.keyPem, old.keyPem);
    assert.ok(renewed.expires.getTime() > old.expires.getTime() + 300 * DAY);
    assert.equal(new X509Certificate(renewed.certPem).checkHost("box.lan"), "box.lan");
  });

  it("are good under the old authority and the new one, when that is renewed", async () => {
    await using sample = await SampleCertificates.create();
    const early = Date.now() - 280 * DAY;
    const old = await sample.open({ now: () => early }).credentialsFor("a");
    const fresh = await sample.open().credentialsFor("b");
    assert.notEqual(fresh.caPem, old.caPem);
    const [oldCa, newCa] = [new X509Certificate(old.caPem), new X509Certificate(fresh.caPem)];
    assert.ok(newCa.validToDate.getTime() > oldCa.validToDate.getTime());
    for (const leaf of [new X509Certificate(old.certPem), new X509Certificate(fresh.certPem)]) {
      for (const ca of [oldCa, newCa]) {
        assert.ok(leaf.checkIssued(ca) && leaf.verify(ca.publicKey));
      }
    }
    // A program that still has the old authority in mind, and one that has read the new.
    assert.equal(await greet(old, fresh), "b");
    assert.equal(await greet(fresh, old), "a");
    assert.equal(await sample.text("ca.crt"), fresh.caPem);
  });

  it("go on trusting other authorities when theirs is renewed", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    const other = await issueAuthority(createPrivateKey(newKey("ed25519")), Date.now());
    await sample.put("ca.crt", (await sample.text("ca.crt")) + other);
    const late = Date.now() + 280 * DAY;
    const { caPem } = await sample.open({ now: () => late }).credentialsFor("a");
    assert.equal(caPem.match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.ok(caPem.endsWith(other));
  });

  it("are renewed when they are to speak for another host", async () => {
    await using sample = await SampleCertificates.create();
    const old = await sample.open().credentialsFor("a");
    const hosts = ["192.168.1.9", "fe80::1", "box.lan"];
    const renewed = await sample.open().credentialsFor("a", { hosts });
    assert.equal(renewed.keyPem, old.keyPem);
    const leaf = new X509Certificate(renewed.certPem);
    assert.equal(leaf.checkIP("192.168.1.9"), "192.168.1.9");
    assert.equal(leaf.checkIP("fe80::1"), "fe80::1");
    assert.equal(leaf.checkHost("box.lan"), "box.lan");
    assert.equal(leaf.checkHost("localhost"), "localhost");
    assert.deepEqual(await sample.open().credentialsFor("a", { hosts }), renewed);
  });

  it("are completed where the making was cut short", async () => {
    await using sample = await SampleCertificates.create();
    const first = await sample.open().credentialsFor("a");
    await rm(sample.file("a.crt"));
    await rm(sample.file("ca.crt"));
    const second = await sample.open().credentialsFor("a");
    assert.equal(second.keyPem, first.keyPem);
    const ca = new X509Certificate(second.caPem);
    assert.ok(new X509Certificate(first.certPem).verify(ca.publicKey));
  });

  it("are waited for while another program writes them in place", async () => {
    await using sample = await SampleCertificates.create();
    await using elsewhere = await SampleCertificates.create();
    const theirs = await elsewhere.open().credentialsFor("a");
    await mkdir(sample.path, { mode: 0o700 });
    await writeFile(sample.file("ca.crt"), theirs.caPem.slice(0, 80), { mode: 0o600 });
    const opened = sample.open().credentialsFor("a");
    await writeFile(sample.file("ca.crt"), theirs.caPem);
    await writeFile(sample.file("ca.key"), await elsewhere.text("ca.key"), { mode: 0o600 });
    assert.equal((await opened).caPem, theirs.caPem);
  });
});

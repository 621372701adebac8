import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { issueAuthority, issueLeaf } from "./issue.ts";
import { SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

const noOpenssl = spawnSync("openssl", ["version"]).status !== 0 && "openssl is not installed";

describe("certificates that are issued", () => {
  for (const [kind, key] of [
    ["P-256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" })],
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 })],
  ] as const) {
    it(`are used, and sign others, with a key of kind ${kind}`, async () => {
      covers("bus.certs.existing");
      await using sample = await SampleCertificates.create();
      const caPem = issueAuthority(key.privateKey, Date.now());
      const keyPem = key.privateKey.export({ type: "pkcs8", format: "pem" });
      await sample.put("ca.crt", caPem);
      await sample.put("ca.key", keyPem);
      const made = await sample.open().credentialsFor("a");
      assert.equal(made.ca, caPem);
      const leaf = new X509Certificate(made.cert);
      assert.ok(leaf.verify(key.publicKey));
      const signer = { certificate: new X509Certificate(caPem), key: key.privateKey };
      const options = { name: "b", key: key.privateKey, hosts: [], now: Date.now() };
      await sample.put("b.crt", issueLeaf(signer, options));
      await sample.put("b.key", keyPem);
      assert.equal((await sample.open().credentialsFor("b")).key, keyPem);
    });
  }

  it(
    "can be those of openssl, which are renewed under their own name",
    { skip: noOpenssl },
    async () => {
      await using sample = await SampleCertificates.create();
      await mkdir(sample.path, { mode: 0o700 });
      const subject = ["-subj", "/C=DE/O=Ünï/CN=Some CA", "-utf8", "-days", "60"];
      const files = ["-keyout", sample.file("ca.key"), "-out", sample.file("ca.crt")];
      const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...subject, ...files];
      execFileSync("openssl", args, { stdio: "ignore" });
      const before = await sample.text("ca.crt");
      const { ca: caPem } = await sample.open().credentialsFor("a");
      assert.notEqual(caPem, before);
      assert.equal(new X509Certificate(caPem).subject, new X509Certificate(before).subject);
      await sample.put("before.crt", before);
      for (const ca of ["ca.crt", "before.crt"]) {
        const verify = ["verify", "-CAfile", sample.file(ca), sample.file("a.crt")];
        assert.match(execFileSync("openssl", verify, { encoding: "utf8" }), /: OK\n$/);
      }
    },
  );
});

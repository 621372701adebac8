import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { greet, SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

const DAY = 24 * 60 * 60_000;
const noOpenssl = spawnSync("openssl", ["version"]).status !== 0 && "openssl is not installed";

describe("Certificates", () => {
  it("creates an authority and a certificate in Orchestra's layout", async () => {
    covers("bus.certs.layout", "bus.certs.authority", "bus.certs.leaf");
    await using sample = await SampleCertificates.create();
    const before = Date.now();
    const made = await sample.open().credentialsFor("storage.markdown");
    const after = Date.now();
    const names = ["ca.crt", "ca.key", "storage.markdown.crt", "storage.markdown.key"];
    assert.deepEqual((await readdir(sample.path)).toSorted(), names);
    assert.equal((await stat(sample.path)).mode & 0o777, 0o700);
    for (const name of names) assert.equal((await stat(sample.file(name))).mode & 0o777, 0o600);

    const ca = new X509Certificate(made.ca);
    assert.equal(ca.subject, "O=Orchestra\nCN=Orchestra CA");
    assert.ok(ca.ca);
    const leaf = new X509Certificate(made.cert);
    assert.equal(leaf.subject, "O=Orchestra\nCN=storage.markdown");
    assert.equal(leaf.issuer, ca.subject);
    assert.ok(!leaf.ca);
    assert.deepEqual(leaf.subjectAltName?.split(", "), [
      "DNS:storage.markdown",
      "DNS:localhost",
      "IP Address:127.0.0.1",
      "IP Address:0:0:0:0:0:0:0:1",
    ]);
    assert.deepEqual(leaf.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
    for (const certificate of [ca, leaf]) {
      assert.equal(certificate.publicKey.asymmetricKeyType, "ed25519");
      const begins = certificate.validFromDate.getTime() + 60_000;
      assert.ok(begins >= before - 1_000 && begins <= after, "a minute ago");
      assert.equal(certificate.validToDate.getTime() - begins, 365 * DAY);
    }
    assert.notEqual(ca.serialNumber, leaf.serialNumber);
    assert.match(made.key, /^-----BEGIN PRIVATE KEY-----\n/);
    assert.equal(made.renewAt.getTime(), ca.validToDate.getTime() - 90 * DAY);
    assert.deepEqual(sample.warnings, []);
  });

  it("reuses existing ones, in every program", async () => {
    await using sample = await SampleCertificates.create();
    const first = await sample.open().credentialsFor("orchestrator");
    const second = await sample.open().credentialsFor("orchestrator");
    assert.deepEqual(second, first);
    const other = await sample.open().credentialsFor("orchestrator-to-a");
    assert.equal(other.ca, first.ca);
    assert.notEqual(other.key, first.key);
  });

  it("creates certificates that pass openssl's strictest checks", { skip: noOpenssl }, async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a", { hosts: ["10.0.0.5", "box.lan"] });
    for (const purpose of ["sslserver", "sslclient"]) {
      const args = ["-x509_strict", "-purpose", purpose, "-verify_hostname", "box.lan"];
      const files = ["-CAfile", sample.file("ca.crt"), sample.file("a.crt")];
      const said = execFileSync("openssl", ["verify", ...args, ...files], { encoding: "utf8" });
      assert.match(said, /: OK\n$/);
    }
    const args = ["x509", "-in", sample.file("ca.crt"), "-noout", "-text"];
    const text = execFileSync("openssl", args, { encoding: "utf8" });
    assert.match(text, /CA:TRUE, pathlen:1/);
    assert.match(text, /Certificate Sign, CRL Sign/);
  });

  it("lets both sides of a connection authenticate", async () => {
    await using sample = await SampleCertificates.create();
    const server = await sample.open().credentialsFor("orchestrator");
    const client = await sample.open().credentialsFor("transport.stdio-client");
    assert.equal(await greet(server, client), "transport.stdio-client");
    await using strangers = await SampleCertificates.create();
    const stranger = await strangers.open().credentialsFor("transport.stdio-client");
    await assert.rejects(greet(server, { ...stranger, ca: client.ca }));
  });

  it("are the same for ten programs that start at once", async () => {
    await using sample = await SampleCertificates.create();
    const all = await Promise.all(
      Array.from({ length: 10 }, () => sample.open().credentialsFor("orchestrator")),
    );
    assert.equal(new Set(all.map((one) => one.key)).size, 1);
    assert.equal(new Set(all.map((one) => one.ca)).size, 1);
    assert.equal((await readdir(sample.path)).length, 4);
  });

  it("are the same for several processes that start at once", async () => {
    await using sample = await SampleCertificates.create();
    const module = JSON.stringify(join(import.meta.dirname, "certificates.ts"));
    const program = `
      import { Certificates } from ${module};
      const made = await new Certificates(${JSON.stringify(sample.path)}).credentialsFor("a");
      console.log(JSON.stringify(made));`;
    const outputs = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const args = ["--input-type=module", "-e", program];
        const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
        return JSON.parse((await child.stdout.toArray()).join("")) as {
          key: string;
          ca: string;
        };
      }),
    );
    assert.equal(outputs.length, 4);
    for (const { key, ca } of outputs) {
      assert.equal(key, await sample.text("a.key"));
      assert.equal(ca, await sample.text("ca.crt"));
    }
    assert.equal((await readdir(sample.path)).length, 4);
  });

  it("cannot be created under names that lead elsewhere", async () => {
    await using sample = await SampleCertificates.create();
    for (const name of ["", "ca", "../a", "a/b", ".hidden", "a b", "x".repeat(201)]) {
      await assert.rejects(sample.open().credentialsFor(name), { code: "usage" });
    }
    for (const host of ["", "box:50100", "http://box", "*.lan", "fe80::1%eth0", "box."]) {
      await assert.rejects(sample.open().credentialsFor("a", { hosts: [host] }), {
        code: "usage",
        message: /^No certificate can be issued for/,
      });
    }
    await assert.rejects(readdir(sample.path), { code: "ENOENT" });
  });
});

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

describe("certificate files that other programs write too", () => {
  it("are completed if their creation was interrupted", async () => {
    await using sample = await SampleCertificates.create();
    const first = await sample.open().credentialsFor("a");
    await rm(sample.file("a.crt"));
    await rm(sample.file("ca.crt"));
    const second = await sample.open().credentialsFor("a");
    assert.equal(second.key, first.key);
    const ca = new X509Certificate(second.ca);
    assert.ok(new X509Certificate(first.cert).verify(ca.publicKey));
  });

  it("are waited for while another program writes them in place", async () => {
    await using sample = await SampleCertificates.create();
    await using elsewhere = await SampleCertificates.create();
    const theirs = await elsewhere.open().credentialsFor("a");
    await mkdir(sample.path, { mode: 0o700 });
    await writeFile(sample.file("ca.crt"), theirs.ca.slice(0, 80), { mode: 0o600 });
    const opened = sample.open().credentialsFor("a");
    await writeFile(sample.file("ca.crt"), theirs.ca);
    await writeFile(sample.file("ca.key"), await elsewhere.text("ca.key"), { mode: 0o600 });
    assert.equal((await opened).ca, theirs.ca);
  });

  it("are not created through a dangling link", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    await symlink(sample.file("nowhere"), sample.file("b.key"));
    await assert.rejects(sample.open().credentialsFor("b"), {
      code: "config",
      message: /^Cannot make '.*b\.crt' and its key: .*dangling link\.$/,
    });
  });
});

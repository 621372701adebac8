import assert from "node:assert/strict";
import { chmod, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { newKey } from "./issue.ts";
import { SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

const DAY = 24 * 60 * 60_000;

describe("Certificates that are wrong", () => {
  const refuses = async (sample: SampleCertificates, name: string, says: RegExp): Promise<void> => {
    const files = await readdir(sample.path);
    const texts = await Promise.all(files.map((file) => sample.text(file)));
    await assert.rejects(sample.open().credentialsFor(name), (error: Error & { code?: string }) => {
      assert.equal(error.code, "config");
      assert.match(error.message, says);
      return true;
    });
    const now = await Promise.all(files.map((file) => sample.text(file)));
    assert.deepEqual(now, texts, "nothing is overwritten");
  };

  for (const [what, text] of [
    ["empty", ""],
    ["not PEM", "hello"],
    ["damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
  ] as const) {
    it(`are left alone when a file is ${what}`, async () => {
      await using sample = await SampleCertificates.create();
      await sample.open().credentialsFor("a");
      await sample.age("ca.crt", "ca.key", "a.crt", "a.key");
      await sample.put("a.crt", text);
      await refuses(sample, "a", /'.*a\.crt'.*delete '.*a\.crt' and '.*a\.key' to have them made/);
      await sample.put("ca.crt", text);
      await refuses(sample, "b", /'.*ca\.crt'/);
    });
  }

  it("are told when a key is not theirs, or none, or locked", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    await sample.age("ca.crt", "ca.key", "a.crt");
    await sample.put("a.key", newKey("ed25519"));
    await refuses(sample, "a", /'.*a\.key' is not the key of '.*a\.crt'/);
    await sample.put("a.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    await refuses(sample, "a", /'.*a\.key' is protected by a passphrase/);
    await sample.put("a.key", "nothing");
    await refuses(sample, "a", /'.*a\.key' is not a private key/);
    await rm(sample.file("a.key"));
    await refuses(sample, "a", /'.*a\.key' is missing/);
    await sample.put("ca.key", newKey("ed25519"));
    await refuses(sample, "a", /'.*ca\.key' is not the key of '.*ca\.crt'/);
  });

  it("are told when another authority signed them, or none can", async () => {
    await using sample = await SampleCertificates.create();
    await using elsewhere = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    const theirs = await elsewhere.open().credentialsFor("a");
    await sample.age("ca.crt", "ca.key");
    await sample.put("a.crt", theirs.certPem);
    await sample.put("a.key", theirs.keyPem);
    await refuses(sample, "a", /'.*a\.crt' is not signed by the authority in '.*ca\.crt'/);
    await sample.put("ca.crt", theirs.certPem);
    await sample.put("ca.key", theirs.keyPem);
    await refuses(sample, "a", /the first certificate in '.*ca\.crt' is not an authority's/);
  });

  it("are used without the authority's key while they last, but not made", async () => {
    await using sample = await SampleCertificates.create();
    const made = await sample.open().credentialsFor("a");
    await sample.age("ca.crt", "a.crt", "a.key");
    await rm(sample.file("ca.key"));
    assert.deepEqual(await sample.open().credentialsFor("a"), made);
    await refuses(sample, "b", /Cannot make '.*b\.crt': '.*ca\.key' is not there/);
    const late = Date.now() + 350 * DAY;
    assert.deepEqual(await sample.open({ now: () => late }).credentialsFor("a"), made);
    assert.equal(sample.warnings.length, 2);
    assert.match(sample.warnings[1] ?? "", /a\.crt' should be renewed, since it expires on \d{4}-/);
    const tooLate = Date.now() + 366 * DAY;
    await assert.rejects(sample.open({ now: () => tooLate }).credentialsFor("a"), {
      message: /ca\.crt' expired on .* and cannot be renewed: '.*ca\.key' is not there/,
    });
  });

  it("have keys that others could read protected, and say so", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    await chmod(sample.file("a.key"), 0o644);
    await chmod(sample.path, 0o777);
    await sample.open().credentialsFor("b");
    assert.match(sample.warnings.join("\n"), /Others than you can put certificates into/);
    sample.warnings.length = 0;
    await sample.open().credentialsFor("a");
    assert.equal((await stat(sample.file("a.key"))).mode & 0o777, 0o600);
    assert.match(
      sample.warnings.join("\n"),
      /a\.key' could be used by others than you \(mode 644\)/,
    );
    assert.equal((await stat(sample.path)).mode & 0o777, 0o777);
  });

  it("cannot be asked for under names that lead elsewhere", async () => {
    await using sample = await SampleCertificates.create();
    for (const name of ["", "ca", "../a", "a/b", ".hidden", "a b", "x".repeat(201)]) {
      await assert.rejects(sample.open().credentialsFor(name), { code: "usage" });
    }
    for (const host of ["", "box:50100", "http://box", "*.lan", "fe80::1%eth0", "box."]) {
      await assert.rejects(sample.open().credentialsFor("a", { hosts: [host] }), {
        code: "usage",
        message: /^No certificate can be made out to/,
      });
    }
    await assert.rejects(readdir(sample.path), { code: "ENOENT" });
  });

  it("are not made through a link to nowhere", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    await symlink(sample.file("nowhere"), sample.file("b.key"));
    await assert.rejects(sample.open().credentialsFor("b"), {
      code: "config",
      message: /^Cannot make '.*b\.crt' and its key: .*link to nowhere\?$/,
    });
  });

  it("say which folder cannot be used", async () => {
    await using sample = await SampleCertificates.create();
    await writeFile(sample.path, "a file");
    await assert.rejects(sample.open().credentialsFor("a"), {
      code: "config",
      message: /^Cannot read '.*ca\.(?:crt|key)': ENOTDIR/,
    });
  });
});

import { rm } from "node:fs/promises";
import { describe, it } from "node:test";

import { newKey } from "./issue.ts";
import { assertRefused, SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

describe("invalid certificate and key files", () => {
  for (const [what, text] of [
    ["empty", ""],
    ["not PEM", "hello"],
    ["damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
  ] as const) {
    it(`are left alone if a file is ${what}`, async () => {
      await using sample = await SampleCertificates.create();
      await sample.open().credentialsFor("a");
      await sample.age("ca.crt", "ca.key", "a.crt", "a.key");
      await sample.put("a.crt", text);
      await assertRefused(
        sample,
        "a",
        /'.*a\.crt'.*delete '.*a\.crt' and '.*a\.key' to have them made/,
      );
      await sample.put("ca.crt", text);
      await assertRefused(sample, "b", /'.*ca\.crt'/);
    });
  }

  it("are reported if a key does not match, is missing, or is locked", async () => {
    await using sample = await SampleCertificates.create();
    await sample.open().credentialsFor("a");
    await sample.age("ca.crt", "ca.key", "a.crt");
    await sample.put("a.key", newKey());
    await assertRefused(sample, "a", /'.*a\.key' is not the key of '.*a\.crt'/);
    await sample.put("a.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    await assertRefused(sample, "a", /'.*a\.key' is protected by a passphrase/);
    await sample.put("a.key", "nothing");
    await assertRefused(sample, "a", /'.*a\.key' is not a private key/);
    await rm(sample.file("a.key"));
    await assertRefused(sample, "a", /'.*a\.key' is missing/);
    await sample.put("ca.key", newKey());
    await assertRefused(sample, "a", /'.*ca\.key' is not the key of '.*ca\.crt'/);
  });
});

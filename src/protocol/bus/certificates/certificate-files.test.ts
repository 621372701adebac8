import assert from "node:assert/strict";
import fs from "node:fs";
import { chmod, readdir, stat, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../../test/support/disk-faults.ts";
import { SampleCertificates } from "../../../../test/samples/sample-certificates.ts";

describe("CertificateFiles", () => {
  it("protect keys that others could read, and report it", async () => {
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

  it("leave no half of a key on a full disk without hard links", async (test) => {
    await using sample = await SampleCertificates.create();
    const noLinks = Object.assign(new Error("EPERM: no links here"), { code: "EPERM" });
    test.mock.method(fs.promises, "link", () => Promise.reject(noLinks));
    {
      using disk = new DiskFaults(sample.path);
      let isInPlace = false;
      disk.decide = ({ operation, path }) => {
        if (operation === "open") isInPlace = path.endsWith(".key");
        return isInPlace && operation === "writeFile" ? "torn" : undefined;
      };
      await assert.rejects(sample.open().credentialsFor("a"), {
        message: /^Cannot write '.*\.key'/,
      });
    }
    assert.deepEqual(await readdir(sample.path), []);
    await sample.open().credentialsFor("a");
  });

  it("report a folder that cannot be used", async () => {
    await using sample = await SampleCertificates.create();
    await writeFile(sample.path, "a file");
    await assert.rejects(sample.open().credentialsFor("a"), {
      code: "config",
      message: /^Cannot read '.*ca\.(?:crt|key)': not a directory/,
    });
  });
});

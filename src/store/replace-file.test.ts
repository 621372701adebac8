import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../test/support/disk-faults.ts";
import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { replaceFile, withLock } from "./replace-file.ts";

describe("replaceFile()", () => {
  it("makes the file readable by its owner only, even if it was not", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const path = join(folder.path, "file");
    await writeFile(path, "old", { mode: 0o644 });
    await replaceFile(path, "new");
    assert.equal(await readFile(path, "utf8"), "new");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  for (const operation of ["open", "writeFile", "sync", "rename"]) {
    it(`keeps the old text and leaves nothing else behind if '${operation}' fails`, async () => {
      await using folder = await SampleFolder.create();
      await mkdir(folder.path);
      const path = join(folder.path, "file");
      await writeFile(path, "old");
      {
        using disk = new DiskFaults(folder.path);
        disk.decide = (call) => (call.operation === operation ? "ENOSPC" : undefined);
        await assert.rejects(replaceFile(path, "new"), {
          code: "config",
          message:
            /^Cannot write '.*file': no space left on device\. Free some space on its disk, and try again\.$/,
        });
      }
      assert.equal(await readFile(path, "utf8"), "old");
      assert.deepEqual(await readdir(folder.path), ["file"]);
    });
  }
});

describe("withLock()", () => {
  it("lets one run at a time, and the next after one that failed", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const lock = join(folder.path, "lock");
    let running = 0;
    const work = (number: number) => async (): Promise<number> => {
      assert.equal(++running, 1, "alone");
      await new Promise(setImmediate);
      running--;
      if (number === 1) throw new Error("failed");
      return number;
    };
    const results = await Promise.allSettled([0, 1, 2].map((each) => withLock(lock, work(each))));
    assert.deepEqual(
      results.map((result) => (result.status === "fulfilled" ? result.value : "failed")),
      [0, "failed", 2],
    );
  });
});

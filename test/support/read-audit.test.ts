import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../samples/sample-folder.ts";
import { AUDIT_FILE, AUDIT_FOLDER, readAudit } from "./read-audit.ts";

const numbersIn = async (folder: SampleFolder): Promise<unknown[]> => {
  return (await Array.fromAsync(readAudit(folder.path))).map(({ n }) => n);
};

describe("readAudit()", () => {
  it("leaves out torn lines, other text, and files that are not its own", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(join(folder.path, AUDIT_FOLDER), { recursive: true });
    await writeFile(join(folder.path, AUDIT_FILE), '{"n":1}\n{"n":\n\n3\nnull\n{"n":2}\n{"n":3');
    await writeFile(
      join(folder.path, AUDIT_FOLDER, "audit-20200101T000000000Z-1.ndjson"),
      '{"n":0}\n',
    );
    await writeFile(join(folder.path, AUDIT_FOLDER, "audit-mine.ndjson"), '{"n":9}\n');
    assert.deepEqual(await numbersIn(folder), [0, 1, 2]);
  });

  it("reads renamed files by their time, the current one last", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(join(folder.path, AUDIT_FOLDER), { recursive: true });
    await writeFile(join(folder.path, AUDIT_FILE), '{"n":3}\n');
    await writeFile(
      join(folder.path, AUDIT_FOLDER, "audit-20210101T000000000Z-7.ndjson"),
      '{"n":2}\n',
    );
    await writeFile(
      join(folder.path, AUDIT_FOLDER, "audit-20200101T000000000Z-9.ndjson"),
      '{"n":1}\n',
    );
    assert.deepEqual(await numbersIn(folder), [1, 2, 3]);
  });

  it("is empty if nothing was recorded, and throws if it may not read", async () => {
    await using folder = await SampleFolder.create();
    assert.deepEqual(await numbersIn(folder), []);
    await writeFile(folder.path, "a file where the data folder should be");
    await assert.rejects(numbersIn(folder), { code: "ENOTDIR" });
  });
});

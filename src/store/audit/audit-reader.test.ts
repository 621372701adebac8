import assert from "node:assert/strict";
import { appendFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { AUDIT_FILE, AUDIT_FOLDER } from "./audit-names.ts";
import { type AuditRecord, auditBackwards } from "./audit-reader.ts";

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `${JSON.stringify({ n: from + at })}\n`).join("");
const numbers = (records: readonly AuditRecord[]): unknown[] => records.map(({ entry }) => entry.n);

describe("reading the audit from its end", () => {
  it("gives the newest first, over all files, however long lines are", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(join(folder.path, AUDIT_FOLDER), { recursive: true });
    await writeFile(
      join(folder.path, AUDIT_FOLDER, "audit-20260101T000000000Z-1.ndjson"),
      lines(0, 3),
    );
    const long = `${JSON.stringify({ n: 3, text: "x".repeat(200_000) })}\n`;
    await writeFile(join(folder.path, AUDIT_FILE), long + lines(4, 6));
    const found = await Array.fromAsync(auditBackwards(folder.path));
    assert.deepEqual(numbers(found), [5, 4, 3, 2, 1, 0]);
  });

  it("skips lines that are not entries", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(join(folder.path, AUDIT_FOLDER), { recursive: true });
    await writeFile(join(folder.path, AUDIT_FILE), `${lines(0, 1)}{"n":1\n\n[]\n${lines(2, 3)}{"n`);
    assert.deepEqual(numbers(await Array.fromAsync(auditBackwards(folder.path))), [2, 0]);
  });

  it("goes on after a place, also when entries were added and the file was set aside", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, AUDIT_FILE);
    await mkdir(join(folder.path, AUDIT_FOLDER), { recursive: true });
    await writeFile(path, lines(0, 10));
    const [first, second] = await Array.fromAsync(auditBackwards(folder.path));
    assert.deepEqual(numbers([first as AuditRecord, second as AuditRecord]), [9, 8]);
    await appendFile(path, lines(10, 12));
    await rename(path, join(folder.path, AUDIT_FOLDER, "audit-20260101T000000000Z-1.ndjson"));
    await writeFile(path, lines(12, 14));
    const before = second?.place ?? "";
    const rest = await Array.fromAsync(auditBackwards(folder.path, { before }));
    assert.deepEqual(numbers(rest), [7, 6, 5, 4, 3, 2, 1, 0]);
  });

  it("finds nothing where there is no audit", async () => {
    await using folder = await SampleFolder.create();
    assert.deepEqual(await Array.fromAsync(auditBackwards(folder.path)), []);
  });
});

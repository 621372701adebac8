import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { describe, it } from "node:test";

import { recoverIfNeeded } from "./apply.ts";
import { SampleIdentities } from "../../../test/samples/sample-identities.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Journal, type JournalEntry } from "./journal.ts";

const ENTRY = { at: "2026-01-01T00:00:00.000Z", files: [] } as unknown as JournalEntry;

describe("Journal", () => {
  it("can be read, and continued, after a half-written line", async () => {
    await using folder = await SampleFolder.create();
    using disk = new DiskFaults(folder.path);
    const journal = new Journal(folder.path);
    using _lock = await journal.lock();
    await journal.begin({ ...ENTRY, id: "one" });
    disk.decide = ({ operation }) => (operation === "writeFile" ? "torn" : undefined);
    await assert.rejects(journal.end("one", "done"), {
      code: "unavailable",
      message: /^Cannot write '.*journal\.jsonl': no space left.*Free some space on its disk/,
    });
    disk.decide = () => undefined;
    assert.equal(await journal.hasPending(), true);
    await journal.end("one", "finished");
    await journal.begin({ ...ENTRY, id: "two" });
    await journal.end("two", "done");
    assert.deepEqual(
      (await journal.entries()).map(({ id, outcome }) => [id, outcome]),
      [
        ["one", "finished"],
        ["two", "done"],
      ],
    );
    assert.equal(await journal.hasPending(), false);
  });
});

describe("Journal", { timeout: 60_000 }, () => {
  it("continues after a truncated line", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    await sample.switch("work");
    await appendFile(sample.journal.path, '{"event":"begin","id":"torn","files":[{"pa');
    assert.equal(await recoverIfNeeded(sample.journal), undefined);
    await sample.switch("home");
    await sample.undo();
    await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("can be read by its owner only, and drops old entries", async () => {
    using sample = new SampleIdentities();
    await sample.switch("work");
    const past = sample.read("data/identity/journal.jsonl").toString();
    const [, id = ""] = /"id":"([^"]*)"/.exec(past) ?? [];
    const padding = " ".repeat(100_000);
    const lines = Array.from({ length: 70 }, (_, at) => {
      return past.replaceAll(id, `past-${at}`).replace("}", `}${padding}`);
    });
    await appendFile(sample.journal.path, lines.join(""));
    await sample.switch("home");
    const { size, mode } = statSync(sample.journal.path);
    assert.equal(mode & 0o777, 0o600);
    assert.ok(size < 6_000_000, String(size));
    const entries = await sample.journal.entries();
    assert.equal(entries.length, 51);
    assert.ok(entries.every(({ outcome }) => outcome === "done"));
    assert.deepEqual([entries[0]?.id, entries.at(-1)?.identity], ["past-20", "home"]);
    await sample.undo();
  });
});

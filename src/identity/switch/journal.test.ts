import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Journal, type JournalEntry } from "./journal.ts";

const ENTRY = { at: "2026-01-01T00:00:00.000Z", files: [] } as unknown as JournalEntry;

describe("Journal", () => {
  it("can be read, and goes on, after a line of which the disk took half", async () => {
    await using folder = await SampleFolder.create();
    using disk = new DiskFaults(folder.path);
    const journal = new Journal(folder.path);
    using _lock = await journal.lock();
    await journal.begin({ ...ENTRY, id: "one" });
    disk.decide = ({ operation }) => (operation === "writeFile" ? "torn" : undefined);
    await assert.rejects(journal.end("one", "done"));
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

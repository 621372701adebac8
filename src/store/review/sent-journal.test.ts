import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SentJournal } from "./reviews.ts";

const journalOf = (folder: SampleFolder, id: string): SentJournal =>
  new SentJournal(folder.path, { id });

describe("SentJournal", () => {
  it("tells another process what this one has sent, reader by reader", async () => {
    await using folder = await SampleFolder.create();
    const journal = journalOf(folder, "1-a");
    journal.note({ reader: "editor", messages: [1, 2] });
    journal.note({ reader: "lazygit", messages: [2] });
    journal.note({ reader: "editor", messages: [5] });
    const other = journalOf(folder, "2-b");
    assert.deepEqual([...other.notedBy("1-a", "editor").sent], [1, 2, 5]);
    assert.deepEqual([...other.notedBy("1-a", "lazygit").sent], [2]);
    assert.deepEqual([...other.notedBy("1-a", "nobody").sent], []);
    assert.deepEqual([...other.notedBy("3-c", "editor").sent], [], "it never sent anything");
    journal.close(true);
  });

  it("is removed once everything is in the database, and kept otherwise", async () => {
    await using folder = await SampleFolder.create();
    const [done, owed] = [journalOf(folder, "1-a"), journalOf(folder, "2-b")];
    done.note({ reader: "editor", messages: [1] });
    owed.note({ reader: "editor", messages: [2] });
    done.close(true);
    owed.close(false);
    assert.deepEqual(readdirSync(join(folder.path, "reviews-sent")), ["2-b.ndjson"]);
    assert.deepEqual([...done.notedBy("2-b", "editor").sent], [2]);
  });

  it("creates no file before there is something to send", async () => {
    await using folder = await SampleFolder.create();
    journalOf(folder, "1-a").close(true);
    assert.equal(existsSync(folder.path), false);
  });

  it("continues after a half-written line", async () => {
    await using folder = await SampleFolder.create();
    const journal = journalOf(folder, "1-a");
    journal.prepare();
    {
      using disk = new DiskFaults(folder.path);
      journal.close(false);
      journal.prepare();
      disk.decide = ({ operation }) => (operation === "writeSync" ? "torn" : undefined);
      assert.throws(() => journal.note({ reader: "editor", messages: [1] }));
    }
    journal.note({ reader: "editor", messages: [2] });
    assert.deepEqual([...journal.notedBy("1-a", "editor").sent], [2]);
    journal.close(true);
  });

  it("reads up to a line that a killed process left unfinished", async () => {
    await using folder = await SampleFolder.create();
    const journal = journalOf(folder, "1-a");
    journal.note({ reader: "editor", messages: [1] });
    appendFileSync(join(folder.path, "reviews-sent/1-a.ndjson"), '{"reader":"editor","mess');
    assert.deepEqual([...journal.notedBy("1-a", "editor").sent], [1]);
    journal.close(true);
  });

  it("keeps its file in its folder, whatever the holder is called", async () => {
    await using folder = await SampleFolder.create();
    const journal = journalOf(folder, "../../escape");
    journal.note({ reader: "editor", messages: [1] });
    assert.deepEqual(readdirSync(join(folder.path, "reviews-sent")), [".._.._escape.ndjson"]);
    journal.close(true);
  });
});

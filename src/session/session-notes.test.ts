import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it, mock } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { DiskFaults } from "../../test/support/disk-faults.ts";
import { until } from "../../test/support/until.ts";
import { SessionLog } from "../store/session/session-log.ts";
import { SessionNotes, titleOf, WriteRetry } from "./session-notes.ts";

describe("WriteAgain", () => {
  it("repeats a refused write until it succeeds, and not after the end", () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    let writes = 0;
    using again = new WriteRetry(async () => {
      if (++writes < 3) again.failed();
      else again.succeeded();
    });
    again.failed();
    for (let round = 0; round < 10; round++) mock.timers.tick(60_000);
    assert.equal(writes, 3);
    again.failed();
    again[Symbol.dispose]();
    again.failed();
    mock.timers.tick(600_000);
    assert.equal(writes, 3);
    mock.timers.reset();
  });
});

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: { owner: "token ann" } };

describe("SessionNotes", () => {
  it("change the given values and keep the rest, in memory and on disk", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const notes = new SessionNotes(log, await log.create(NEW));
    await notes.keep({ memory: { id: 7 } }, { title: "First", updated: 5 });
    await notes.keep({ turn: "t1" });
    const kept = { owner: "token ann", memory: { id: 7 }, turn: "t1" };
    assert.deepEqual([notes.kept, notes.title], [kept, "First"]);
    const record = await log.find("s1");
    assert.deepEqual([record?.notes, record?.title, record?.updated], [kept, "First", 5]);
  });

  it("end with the newest of several changes that waited for a locked database", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const notes = new SessionNotes(log, await log.create(NEW));
    using other = new DatabaseSync(join(folder.path, "sessions.sqlite"));
    other.exec("BEGIN IMMEDIATE");
    const kept = Array.from({ length: 20 }, (_, at) => notes.keep({ memory: at }));
    await immediate();
    other.exec("ROLLBACK");
    await Promise.all(kept);
    assert.equal((await log.find("s1"))?.notes.memory, 19);
  });

  it("forget a turn that has ended", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const notes = new SessionNotes(log, await log.create(NEW));
    await notes.keep({ turn: "t1" });
    await notes.keep({ turn: undefined });
    assert.equal("turn" in ((await log.find("s1"))?.notes ?? {}), false);
  });

  it("write nothing once the session was released: the notes belong to the next holder", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const held = await log.create(NEW);
    const notes = new SessionNotes(log, held);
    notes.end();
    await notes.keep({ memory: "late" }, { title: "Late" });
    const record = await log.find("s1");
    assert.deepEqual([record?.notes, record?.title], [NEW.notes, undefined]);
  });

  it("write what the disk refused with the next change", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const notes = new SessionNotes(log, await log.create(NEW));
    {
      using disk = new DiskFaults(folder.path);
      disk.decide = ({ operation }) => (operation === "COMMIT" ? "EIO" : undefined);
      await assert.rejects(notes.keep({ memory: "lost?" }), /disk I\/O error/);
    }
    await notes.keep({ turn: "t1" });
    assert.deepEqual((await log.find("s1"))?.notes, { ...NEW.notes, memory: "lost?", turn: "t1" });
  });

  it("write what the disk refused by themselves, once it accepts it", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const notes = new SessionNotes(log, await log.create(NEW));
    await notes.keep({ turn: "t1" });
    {
      using disk = new DiskFaults(folder.path);
      disk.decide = ({ operation }) => (operation === "COMMIT" ? "EIO" : undefined);
      const ended = notes.keep({ turn: undefined }, { title: "Ended" });
      await assert.rejects(ended, /disk I\/O error/);
    }
    await until(async () => !("turn" in ((await log.find("s1"))?.notes ?? {})));
    assert.equal((await log.find("s1"))?.title, "Ended");
  });
});

describe("titleOf()", () => {
  const text = (words: string) => ({ type: "text", text: words });

  it("is the first line that is not empty", () => {
    const image = { type: "image", data: "", mimeType: "image/png" };
    assert.equal(titleOf([image, text(" \n "), text("\n  Fix it\nplease")]), "Fix it");
    assert.equal(titleOf([image, text("")]), undefined);
    assert.equal(titleOf([]), undefined);
  });

  it("is cut if it is long, but not within a character", () => {
    assert.equal(titleOf([text("x".repeat(80))]), "x".repeat(80));
    assert.equal(titleOf([text("x".repeat(81))]), `${"x".repeat(79)}…`);
    const title = titleOf([text(`${"x".repeat(78)}😀😀`)]) ?? "";
    assert.ok(title.isWellFormed() && title.length <= 80, title);
  });
});

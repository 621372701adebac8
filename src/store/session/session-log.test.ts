import type { HeldSession } from "../../session/store.ts";
import assert from "node:assert/strict";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { HoldingProcess } from "../../../test/support/holding-process.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";
import { SessionLog } from "./session-log.ts";

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: { a: 1 } };

describe("SessionLog", () => {
  it("returns what was appended, in order, after an event, and after being opened again", async () => {
    await using folder = await SampleFolder.create();
    {
      await using log = await SessionLog.open(folder.path);
      const { key } = await log.create(NEW);
      const appends = Array.from({ length: 1000 }, (_, at) =>
        log.append(key, at % 2 === 0 ? "client" : "agent", JSON.stringify({ at })),
      );
      assert.equal(appends.at(-1)?.last, 1000);
      await Promise.all(appends.map(({ stored }) => stored));
    }
    await using log = await SessionLog.open(folder.path);
    const events = await all(log, "s1");
    assert.deepEqual(
      events.map(({ seq }) => seq),
      Array.from({ length: 1000 }, (_, at) => at + 1),
    );
    const [first] = events;
    assert.deepEqual([first?.direction, first?.message], ["client", { at: 0 }]);
    assert.ok(Math.abs(Date.now() - (first?.at ?? 0)) < 60_000);
    assert.deepEqual(
      (await all(log, "s1", 998)).map(({ message }) => message),
      [{ at: 998 }, { at: 999 }],
    );
    assert.equal((await log.hold("s1")).last, 1000);
  });

  it("begins a deleted session anew under its id, and refuses one that is there", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    await log.append(key, "client", "{}").stored;
    await assert.rejects(log.create(NEW), /Session 's1' exists already/);
    await log.release(key);
    await log.delete("s1");
    const again = await log.create({ ...NEW, cwd: "/b", notes: {} });
    assert.deepEqual([again.last, again.record.cwd, again.record.isDeleted], [0, "/b", false]);
    assert.deepEqual(await all(log, "s1"), []);
    assert.equal(log.append(again.key, "client", "{}").last, 1);
  });

  it("writes events that are appended together in one commit", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const held: HeldSession[] = [];
    for (const id of ["a", "b"]) held.push(await log.create({ ...NEW, id }));
    const promises = new Set<Promise<void>>();
    for (let seq = 1; seq <= 50; seq++) {
      for (const { key } of held) promises.add(log.append(key, "agent", "{}").stored);
    }
    assert.equal(promises.size, 2);
    await Promise.all(promises);
    const rows = await log.database.read((database) =>
      database.prepare("SELECT session, first, last FROM session_page").all(),
    );
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { session: 1, first: 1, last: 50 },
        { session: 2, first: 1, last: 50 },
      ],
    );
  });

  it("has acknowledged events on disk, for every reader of the file", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    using other = new DatabaseSync(join(folder.path, "sessions.sqlite"), { readOnly: true });
    for (let seq = 1; seq <= 20; seq++) {
      await log.append(key, "agent", "{}").stored;
      const row = other.prepare("SELECT max(last) AS last FROM session_page").get();
      assert.equal(row?.last, seq);
    }
  });

  it("drops a torn end of its file and misreads nothing", async () => {
    await using folder = await SampleFolder.create();
    const log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    for (let seq = 1; seq <= 30; seq++) {
      await log.append(key, "agent", JSON.stringify({ text: `${seq} `.repeat(500) })).stored;
    }
    const wal = join(folder.path, "sessions.sqlite-wal");
    const copy = await SampleFolder.create();
    await using _copy = copy;
    const { cp, stat } = await import("node:fs/promises");
    await cp(folder.path, copy.path, { recursive: true });
    const { size } = await stat(wal);
    await log[Symbol.asyncDispose]();
    await truncate(join(copy.path, "sessions.sqlite-wal"), size - 3000);
    await using torn = await SessionLog.open(copy.path);
    const events = await all(torn, "s1");
    assert.ok(events.length > 0 && events.length < 30, `${events.length} events are left`);
    for (const [index, { seq, message }] of events.entries()) {
      assert.deepEqual([seq, message], [index + 1, { text: `${index + 1} `.repeat(500) }]);
    }
  });

  it("refuses to alter events, and two events under one number", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    await log.append(key, "agent", "{}").stored;
    await assert.rejects(
      log.database.change((database) => database.exec("UPDATE session_page SET lines = ''")),
      /never altered/,
    );
    const again = "INSERT INTO session_page (session, first, last, lines) VALUES (?, 1, 1, '')";
    await assert.rejects(
      log.database.change((database) => database.prepare(again).run(key)),
      /UNIQUE/,
    );
    assert.deepEqual((await all(log, "s1")).length, 1);
  });

  it("lets one process at a time append to a session, whatever their process ids and hosts", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    await log.hold("s1");
    await log.release(key);
    {
      await using other = await HoldingProcess.start(folder.path, "s1");
      await assert.rejects(log.hold("s1"), {
        code: "conflict",
        message: new RegExp(`\\(process ${other.pid}\\)`),
      });
      assert.equal((await log.find("s1"))?.isHeld, true);
    }
    // It was killed.
    assert.equal((await log.find("s1"))?.isHeld, false);
    await log.hold("s1");
    assert.equal((await log.find("s1"))?.isHeld, true);
    await log.release(key);
    assert.equal((await log.find("s1"))?.isHeld, false);
    await assert.rejects(log.hold("nothing"), { code: "not-found" });
    // As the last release before this one wrote it.
    const old = "UPDATE session SET holder = 'host 1 12345'";
    await log.database.change((it) => it.exec(old));
    await log.hold("s1");
  });

  it("releases a session later, if the disk failed", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    using disk = new DiskFaults(folder.path);
    const { key } = await log.create(NEW);
    disk.decide = ({ operation }) => (operation === "COMMIT" ? "ENOSPC" : undefined);
    await assert.rejects(log.release(key), { code: "unavailable" });
    disk.decide = () => undefined;
    await until(async () => (await log.find("s1"))?.isHeld !== true);
  });

  it("does not write notes of a session that another process holds", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    await log.release(key);
    await log.describe(key, { notes: { late: true } });
    assert.deepEqual((await log.find("s1"))?.notes, { a: 1 });
  });

  it("continues after the last event on disk if a commit fails, in every session of its own", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    using disk = new DiskFaults(folder.path);
    const one = await log.create({ ...NEW, id: "one" });
    const other = await log.create({ ...NEW, id: "other" });
    await log.append(one.key, "agent", "1").stored;
    for (const fault of ["ENOSPC", "EIO", "SQLITE_BUSY", "torn"] as const) {
      disk.decide = ({ operation }) => (operation === "COMMIT" ? fault : undefined);
      const failed = log.append(one.key, "agent", `"${fault}"`);
      const flushed = log.flush();
      // While that is on its way, more is said here, and something elsewhere.
      const behind = log.append(one.key, "agent", `"${fault} 2"`);
      await assert.rejects(failed.stored, { code: "unavailable" });
      disk.decide = () => undefined;
      const next = log.append(other.key, "agent", `"${fault}"`);
      await assert.rejects(behind.stored, { code: "unavailable" });
      assert.equal(behind.failure, failed.failure);
      await Promise.all([flushed, next.stored]);
      await log.append(one.key, "agent", `"after ${fault}"`).stored;
    }
    const said = async (id: string) =>
      (await all(log, id)).map(({ seq, message }) => [seq, message]);
    assert.deepEqual(await said("one"), [
      [1, 1],
      [2, "after ENOSPC"],
      [3, "after EIO"],
      [4, "after SQLITE_BUSY"],
      [5, "after torn"],
    ]);
    assert.equal((await said("other")).length, 4);
  });

  it("forks up to an event, also within a commit", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    for (let seq = 1; seq <= 3; seq++) log.append(key, "agent", `{"at":${seq}}`);
    await log.flush();
    for (let seq = 4; seq <= 6; seq++) log.append(key, "agent", `{"at":${seq}}`);
    const whole = await log.fork("s1", { ...NEW, id: "whole", parent: "s1" });
    const part = await log.fork("s1", { ...NEW, id: "part" }, 5);
    assert.deepEqual([whole.last, part.last], [6, 5]);
    assert.deepEqual(
      (await all(log, "part")).map(({ message }) => message),
      [1, 2, 3, 4, 5].map((at) => ({ at })),
    );
    assert.equal((await log.find("whole"))?.parent, "s1");
  });

  it("deletes the events of a deleted session, but remembers that it existed", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key } = await log.create(NEW);
    await log.append(key, "client", '{"text":"a secret"}').stored;
    await log.describe(key, { title: "A title", notes: { b: 2 } });
    assert.deepEqual((await log.find("s1"))?.notes, { b: 2 });
    await log.delete("s1");
    assert.deepEqual(await log.list(), []);
    assert.deepEqual(await all(log, "s1"), []);
    const record = await log.find("s1");
    assert.deepEqual([record?.isDeleted, record?.title], [true, undefined]);
    await assert.rejects(log.hold("s1"), { code: "closed" });
  });
});

async function all(log: SessionLog, id: string, after?: number) {
  return (await Array.fromAsync(log.read(id, after))).flat();
}

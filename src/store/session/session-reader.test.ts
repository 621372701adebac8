import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SessionLog } from "./session-log.ts";
import { SessionReader } from "./session-reader.ts";

const session = (id: string, notes: object = {}) => ({
  id,
  cwd: `/projects/${id.slice(0, 1)}`,
  agent: "built-in",
  notes: { ...notes },
});
const idOf = (at: number): string => `${at}`.padStart(8, "0") + "-0000-4000-8000-000000000000";

async function fill(log: SessionLog, key: number, count: number): Promise<void> {
  let stored = Promise.resolve();
  for (let at = 1; at <= count; at++) {
    ({ stored } = log.append(key, "agent", JSON.stringify({ kind: "update", at })));
    // Several commits, so that there are several rows.
    if (at % 40 === 0) await stored;
  }
  await stored;
}

describe("reading sessions that others write", () => {
  it("reads events forwards and backwards from any number", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    using reader = await SessionReader.open(folder.path);
    const { key } = await log.create(session(idOf(1)));
    await fill(log, key, 100);
    const numbers = async (found: ReturnType<SessionReader["events"]>): Promise<number[]> =>
      (await found).map(({ seq }) => seq);
    assert.deepEqual(await numbers(reader.events(idOf(1), 38, 5)), [38, 39, 40, 41, 42]);
    assert.deepEqual(await numbers(reader.eventsBefore(idOf(1), 43, 5)), [38, 39, 40, 41, 42]);
    assert.deepEqual(await numbers(reader.eventsBefore(idOf(1), 3, 5)), [1, 2]);
    assert.deepEqual(await numbers(reader.eventsBefore(idOf(1), 101, 2)), [99, 100]);
    assert.deepEqual(await numbers(reader.events(idOf(1), 101, 5)), []);
    assert.deepEqual(await numbers(reader.events("unknown", 1, 5)), []);
    assert.equal((await reader.find(idOf(1)))?.last, 100);
  });

  it("tells which sessions may have changed, also by a commit of this process, and is cheap otherwise", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    using reader = await SessionReader.open(folder.path);
    const { key } = await log.create(session(idOf(1)));
    const mark = await reader.mark();
    assert.equal(await reader.changed(mark), undefined);
    await log.append(key, "agent", "{}").stored;
    const changed = await reader.changed(mark);
    assert.deepEqual(
      changed?.sessions.map(({ id, last }) => [id, last]),
      [[idOf(1), 1]],
    );
    assert.equal(await reader.changed(changed?.mark ?? mark), undefined);
    await log.release(key);
    const released = await reader.changed(changed?.mark ?? mark);
    assert.equal(released?.sessions[0]?.holder, undefined);
  });

  it("lists by owner, in pages", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    using reader = await SessionReader.open(folder.path);
    for (let at = 0; at < 6; at++) {
      const owned = at % 2 === 0 ? {} : { owner: "token 1" };
      const { key } = await log.create(session(idOf(at), owned));
      await log.describe(key, { title: `Mend 100% of ${at}`, updated: 1_000 + at });
    }
    const first = await reader.list({ limit: 4 });
    assert.deepEqual(
      first.map(({ id }) => id),
      [5, 4, 3, 2].map(idOf),
    );
    const rest = await reader.list({ limit: 4, after: first.at(-1) });
    assert.deepEqual(
      rest.map(({ id }) => id),
      [1, 0].map(idOf),
    );
    const owned = await reader.list({ limit: 9, owner: "token 1" });
    assert.deepEqual(
      owned.map(({ id }) => id),
      [5, 3, 1].map(idOf),
    );
    assert.equal((await reader.held()).length, 6);
  });
});

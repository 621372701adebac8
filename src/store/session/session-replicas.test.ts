import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SessionLog } from "./session-log.ts";
import { SessionReplicas } from "./session-replicas.ts";

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: {} };

describe("SessionReplicas", () => {
  it("cuts the end of a session, also within a commit, and adds other events", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const replicas = new SessionReplicas(log.database);
    const { key } = await log.create(NEW);
    for (let at = 1; at <= 5; at++) log.append(key, "agent", String(at));
    await log.flush();
    log.append(key, "agent", "6");
    await log.release(key);
    await replicas.replace(key, 3, [
      { session: key, first: 4, last: 5, lines: '[4,0,"agent","b4"]\n[5,0,"agent","b5"]\n' },
    ]);
    assert.equal(await replicas.last(key), 5);
    const events = (await Array.fromAsync(log.read("s1"))).flat();
    assert.deepEqual(
      events.map(({ message }) => message),
      [1, 2, 3, "b4", "b5"],
    );
    const pages = await Array.fromAsync(replicas.after(key, 2));
    assert.deepEqual(
      pages.map(({ first, last }) => [first, last]),
      [
        [3, 3],
        [4, 5],
      ],
    );
    assert.match(pages[0]?.lines ?? "", /^\[3,\d+,"agent",3\]\n$/);
    assert.equal((await log.hold("s1")).last, 5);
    await log.release(key);
    await replicas.replace(key, 0, []);
    assert.deepEqual((await Array.fromAsync(log.read("s1"))).flat(), []);
  });

  it("keeps up to where the events are known to be those that all see", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const replicas = new SessionReplicas(log.database);
    const { key } = await log.create(NEW);
    assert.equal(await replicas.mark(key), undefined);
    await replicas.setMark(key, { epoch: 2, sequence: 9 });
    await replicas.setMark(key, { epoch: 3, sequence: 17 });
    assert.deepEqual(await replicas.mark(key), { epoch: 3, sequence: 17 });
    await replicas.replace(key, 0, [], { epoch: 4, sequence: 20 });
    assert.deepEqual(await replicas.mark(key), { epoch: 4, sequence: 20 });
  });

  it("adopts the record of a session, also of one that was deleted here", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const { key, record } = await log.create({ ...NEW, title: "Old" });
    await log.release(key);
    await log.delete("s1");
    const adopted = { ...record, title: "New", updated: 7, notes: { owner: "ann" } };
    assert.equal(await log.adopt(adopted), key);
    const held = await log.hold("s1");
    assert.deepEqual([held.record.title, held.record.updated, held.last], ["New", 7, 0]);
  });
});

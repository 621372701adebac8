import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";

import { FleetStores } from "../../../test/support/fleet-stores.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import type { SessionStore } from "../../session/store.ts";
import type { Bookmark } from "../ownership/session-entry.ts";
import type { WorkerStore } from "./worker-store.ts";

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: {} };

/** More events than a worker reads so that it has all of them. */
const MANY = 240;

describe("catchUp", { skip: noNats, timeout: 120_000 }, () => {
  it("reads the events since the turn began, and earlier ones when somebody asks for them", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const [one, other] = [await fleet.worker(), await fleet.worker()];
    const { key } = await one.store.create(NEW);
    await say(one.store, key, 1, MANY);
    const turn = { turn: "t", turnAfter: MANY };
    await one.store.describe(key, { notes: turn });
    await say(one.store, key, MANY + 1, MANY + 5);
    // Other notes of the same turn leave out nothing of it.
    await one.store.describe(key, { notes: { ...turn, memory: 1 } });
    await say(one.store, key, MANY + 6, MANY + 9);
    await fleet.kill(one);
    const taken = await other.store.hold("s1");
    assert.equal(taken.last, MANY + 9);
    assert.deepEqual(await local(other.store), range(MANY, MANY + 9));
    await say(other.store, taken.key, MANY + 10, MANY + 10);
    for (const after of [0, 1, 50, MANY - 2, MANY - 1, MANY, MANY + 7, MANY + 10]) {
      assert.deepEqual(await numbers(other.store, after), range(after + 1, MANY + 10));
    }
  });

  it("goes on where a worker has most of the events, or the session is short", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const [one, other] = [await fleet.worker(), await fleet.worker()];
    const { key } = await one.store.create(NEW);
    await say(one.store, key, 1, 50);
    await one.store.release(key);
    let last = 50;
    // To and fro, with few events each time.
    for (const { store } of [other, one, other, one]) {
      const taken = await store.hold("s1");
      await say(store, taken.key, last + 1, (last += 45));
      await store.release(taken.key);
      assert.deepEqual(await local(store), range(1, last));
    }
  });

  it("drops what a worker has of a session that went on elsewhere for long", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const [one, other] = [await fleet.worker(), await fleet.worker()];
    const { key } = await one.store.create(NEW);
    await say(one.store, key, 1, 20);
    await one.store.release(key);
    const taken = await other.store.hold("s1");
    await say(other.store, taken.key, 21, MANY);
    await other.store.release(taken.key);
    const again = await one.store.hold("s1");
    assert.deepEqual(await local(one.store), [MANY]);
    await say(one.store, again.key, MANY + 1, MANY + 3);
    assert.deepEqual(await numbers(one.store, 0), range(1, MANY + 3));
    // What it left out is not missing after a restart, on the same data folder.
    await fleet.kill(one);
    const { store } = await fleet.worker(one.data);
    assert.equal((await store.hold("s1")).last, MANY + 3);
    assert.deepEqual(await numbers(store, 0), range(1, MANY + 3));
    assert.deepEqual(await numbers(store, 30), range(31, MANY + 3));
  });

  it("reads all events where the entry names a message that is none of whole events", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const { key } = await store.create(NEW);
    await say(store, key, 1, MANY);
    await store.release(key);
    const kv = await new Kvm(jetstream((await fleet.connect()).nats)).open(fleet.subjects.sessions);
    for (const bookmark of [
      { sequence: 5, last: MANY },
      { sequence: MANY * 100, last: MANY },
      { sequence: 0, last: MANY },
    ] satisfies Bookmark[]) {
      const entry = await kv.get("s1");
      const changed = { ...entry?.json<object>(), bookmark };
      await kv.put("s1", JSON.stringify(changed));
      const other = await fleet.worker();
      const taken = await other.store.hold("s1");
      assert.deepEqual(await local(other.store), range(1, MANY));
      await other.store.release(taken.key);
    }
  });

  it("begins with no part of a large event, and reads on behind one", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const [one, other] = [await fleet.worker(), await fleet.worker()];
    const { key } = await one.store.create(NEW);
    await say(one.store, key, 1, MANY);
    const large = JSON.stringify("x".repeat(600_000));
    await one.store.append(key, "agent", large).stored;
    await one.store.release(key);
    const taken = await other.store.hold("s1");
    assert.deepEqual(await local(other.store), range(MANY, MANY + 1));
    await say(other.store, taken.key, MANY + 2, 2 * MANY);
    const gateway = await fleet.gateway();
    let readers = 0;
    const { nats: watcher } = await fleet.connect();
    watcher.subscribe("$JS.API.CONSUMER.CREATE.>", { callback: () => void readers++ });
    for (const after of [0, 120, 121, MANY - 1, MANY, MANY + 1, MANY + 150]) {
      const events = (await Array.fromAsync(gateway.read("s1", after))).flat();
      await watcher.flush();
      // One that gets no message for long is replaced, which takes seconds.
      assert.equal(readers, 1);
      readers = 0;
      const expected = range(after + 1, 2 * MANY);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        expected,
      );
      const found = events.find(({ seq }) => seq === MANY + 1);
      if (after <= MANY) assert.equal(JSON.stringify(found?.message), large);
    }
  });
});

/** Appends events, each of which becomes a message of its own. */
async function say(store: WorkerStore, key: number, from: number, to: number): Promise<void> {
  for (let at = from; at <= to; at++) await store.append(key, "agent", String(at)).stored;
}

async function numbers(store: Pick<SessionStore, "read">, after: number): Promise<number[]> {
  return (await Array.fromAsync(store.read("s1", after))).flat().map(({ seq }) => seq);
}

/** Numbers of the events that the worker has itself. */
function local(store: WorkerStore): Promise<number[]> {
  return numbers(store.log, 0);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

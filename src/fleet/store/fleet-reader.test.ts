import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { FleetStores } from "../../../test/support/fleet-stores.ts";
import { until } from "../../../test/support/until.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import type { SessionReading } from "../../store/session/session-reader.ts";

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: { owner: "token ann" } };

/** What is read of a session, once its last event is known: it is told a little later. */
async function lastOf(reader: SessionReading, id: string, last: number): Promise<void> {
  await until(async () => (await reader.find(id))?.last === last);
}

function numbers(events: readonly { readonly seq: number }[]): number[] {
  return events.map(({ seq }) => seq);
}

describe("FleetReader", { skip: noNats, timeout: 600_000 }, () => {
  it("finds events by number, also large ones, and new ones after NATS was restarted", async () => {
    await using server = await NatsServer.start("max_payload: 64KB");
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const gateway = await fleet.gateway();
    const { key } = await store.create(NEW);
    for (let at = 1; at <= 30; at++) {
      const size = at === 10 ? 300_000 : 20_000;
      await store.append(key, "agent", JSON.stringify("x".repeat(size))).stored;
    }
    using reader = await gateway.openReader(() => () => {});
    const [large] = await reader.events("s1", 10, 1);
    assert.deepEqual([large?.seq, large?.message], [10, "x".repeat(300_000)]);
    assert.deepEqual(numbers(await reader.events("s1", 11, 2)), [11, 12]);
    assert.deepEqual(numbers(await reader.eventsBefore("s1", 11, 1)), [10]);
    assert.deepEqual(numbers(await reader.eventsBefore("s1", 31, 2)), [29, 30]);
    const page = numbers(await reader.eventsBefore("s1", 31, 1000));
    assert.deepEqual([page.at(-1), page.length < 30], [30, true]);
    assert.deepEqual(await reader.events("s1", 31, 10), []);
    assert.deepEqual(await reader.events("nothing", 1, 10), []);

    await server.kill();
    await server.restart();
    for (let at = 31; at <= 33; at++) await store.append(key, "agent", "1").stored;
    await lastOf(reader, "s1", 33);
    assert.deepEqual(numbers(await reader.events("s1", 31, 10)), [31, 32, 33]);
  });

  it("lists, counts and finds sessions, and tells which have changed", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const worker = await fleet.worker();
    const { store } = worker;
    const gateway = await fleet.gateway();
    let tell = (): void => {};
    using reader = await gateway.openReader((listener) => {
      tell = listener;
      return () => {};
    });
    const { key } = await store.create(NEW);
    await store.create({ ...NEW, id: "s2", cwd: "/Other", notes: {} });
    const all = await reader.list({ limit: 10 });
    assert.equal(all.length, 2);
    const ann = await reader.list({ owner: "token ann", limit: 10 });
    assert.equal(ann.length, 1);
    assert.deepEqual(
      all.map(({ holder }) => holder),
      [store.holder, store.holder],
    );
    assert.deepEqual(await reader.list({ runsOnly: true, limit: 10 }), []);
    assert.equal((await reader.held()).length, 2);

    let mark = await reader.mark();
    await store.append(key, "agent", "1").stored;
    const changed = async (isMet: (last: number, holder: string | undefined) => boolean) => {
      for (;;) {
        const change = await reader.changed(mark);
        mark = change?.mark ?? mark;
        const session = change?.sessions.find(({ id }) => id === "s1");
        if (session !== undefined && isMet(session.last, session.holder)) return;
        await delay(10);
      }
    };
    await changed((last, holder) => last === 1 && holder === store.holder);
    // That a worker has died is no change in NATS.
    fleet.alive.delete(store.holder);
    tell();
    await changed((_, holder) => holder === undefined);
    assert.deepEqual(await reader.held(), []);
  });
});

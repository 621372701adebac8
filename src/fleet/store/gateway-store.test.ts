import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";

import { FleetStores } from "../../../test/support/fleet-stores.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import type { SessionRecord } from "../../session/store.ts";
import { bucketStream } from "./session-streams.ts";

const NEW = { id: "s1", cwd: "/a", agent: "x", notes: { owner: "token ann" } };

describe("GatewayStore", { skip: noNats }, () => {
  it("says which worker holds a session, or which is to take it", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const placed: SessionRecord[] = [];
    const gateway = await fleet.gateway(async (record) => {
      placed.push(record);
      return "chosen";
    });
    await assert.rejects(gateway.hold("s1"), { code: "not-found" });
    const { store } = await fleet.worker();
    const { key } = await store.create(NEW);
    await assert.rejects(gateway.hold("s1"), { code: "conflict", holder: store.holder });
    assert.equal(await gateway.holderOf("s1"), store.holder);
    assert.deepEqual(placed, []);
    fleet.alive.delete(store.holder);
    await assert.rejects(gateway.hold("s1"), { code: "conflict", holder: "chosen" });
    assert.equal(await gateway.holderOf("s1"), undefined);
    fleet.alive.add(store.holder);
    await store.release(key);
    await assert.rejects(gateway.hold("s1"), { code: "conflict", holder: "chosen" });
    assert.deepEqual(
      placed.map(({ id, isHeld }) => [id, isHeld]),
      [
        ["s1", false],
        ["s1", false],
      ],
    );
    await store.delete("s1");
    await assert.rejects(gateway.hold("s1"), { code: "closed" });
  });

  it("finds, lists and reads at once what a worker has stored", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const gateways = [await fleet.gateway(), await fleet.gateway()];
    for (let round = 1; round <= 20; round++) {
      const id = `session-${round}`;
      const { key } = await store.create({ ...NEW, id });
      await store.describe(key, { title: `Round ${round}`, updated: round });
      await store.append(key, "agent", String(round)).stored;
      for (const gateway of gateways) {
        assert.equal((await gateway.find(id))?.title, `Round ${round}`);
        const [newest] = await gateway.list({ owner: "token ann", limit: 1 });
        assert.deepEqual([newest?.id, newest?.isHeld], [id, true]);
        assert.equal((await gateway.openOf("token ann")).length, round);
        const events = (await Array.fromAsync(gateway.read(id))).flat();
        assert.deepEqual(
          events.map(({ seq, message }) => [seq, message]),
          [[1, round]],
        );
      }
    }
    await store.delete("session-20");
    for (const gateway of gateways) assert.equal((await gateway.list()).length, 19);
  });

  it("changes nothing itself, and says who does", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const gateway = await fleet.gateway();
    const says = { code: "unavailable", message: /gateway of a fleet does not .* A worker/ };
    await assert.rejects(gateway.create(), says);
    await assert.rejects(gateway.fork(), says);
    await assert.rejects(gateway.delete(), says);
    await assert.rejects(gateway.describe(), says);
    assert.throws(() => gateway.append(), says);
    await gateway.release();
  });

  it("lists what it knows while NATS is away, and follows when it is back", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { store } = await fleet.worker();
    const gateway = await fleet.gateway();
    await store.create(NEW);
    assert.equal((await gateway.list()).length, 1);
    await server.kill();
    assert.equal((await gateway.list()).length, 1);
    await server.restart();
    await store.create({ ...NEW, id: "s2" });
    // Without a pause, nothing could arrive while there is no connection.
    await until(async () => (await gateway.list()).length >= 2);
  });

  it("follows again after it could not for a while", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const { store, connection } = await fleet.worker();
    const gateway = await fleet.gateway();
    await store.create(NEW);
    assert.equal((await gateway.list()).length, 1);
    const { streams } = await jetstreamManager(connection.nats);
    const { config } = await streams.info(bucketStream(fleet.subjects));
    await streams.delete(config.name);
    await until(() => fleet.logged.some((line) => line.includes("fleet.sessions-not-followed")));
    await streams.add(config);
    await store.create({ ...NEW, id: "s2" });
    await until(async () => (await gateway.list()).some(({ id }) => id === "s2"));
  });
});

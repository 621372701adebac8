import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GatewayNode, until, WorkerNode } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";

const never = new AbortController().signal;

describe("Placer", { skip: noNats, timeout: 60_000 }, () => {
  it("takes a free slot at once, and waits for one when all are taken", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 2 });
    await using gateway = await GatewayNode.start(server.url, "g");
    assert.equal((await gateway.placer.place({}, never)).id, worker.self.id);
    assert.equal((await gateway.placer.place({}, never)).id, worker.self.id);
    worker.slots.opened();
    worker.slots.opened();
    let placed = 0;
    const waiting = [1, 2].map(async () => {
      await gateway.placer.place({}, never);
      placed++;
    });
    await until(() => worker.members.get(gateway.self.id)?.waiting[0]?.count === 2);
    worker.slots.closed();
    await Promise.race(waiting);
    assert.equal(placed, 1);
    worker.slots.closed();
    await Promise.all(waiting);
    assert.equal(worker.slots.used, 2);
    assert.deepEqual(gateway.queue.waiting, []);
  });
});

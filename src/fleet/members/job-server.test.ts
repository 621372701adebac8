import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fill, GatewayNode, queued, WorkerNode } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { NodeProcess } from "../../../test/support/node-process.ts";

const never = new AbortController().signal;

describe("JobServer", { skip: noNats, timeout: 300_000 }, () => {
  it("gives the request of a worker that was killed to another, and serves none twice", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    fill(worker);
    await using gateway = await GatewayNode.start(server.url, "g");
    const waiting = gateway.placer.place({}, never);
    while ((await queued(gateway).catch(() => 0)) < 1);
    await using child = await NodeProcess.start(server.url, "killed", true);
    await child[Symbol.asyncDispose]();
    worker.slots.closed();
    assert.equal((await waiting).id, worker.self.id);
    while ((await queued(gateway)) > 0);
    assert.equal(worker.slots.used, 1);
  });
});

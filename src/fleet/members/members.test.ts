import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FleetNode, STATE, until } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";

const WORKER = { ...STATE, slots: 4, used: 1, labels: { gpu: "1" }, warm: ["a"], sessions: 1 };

describe("Members", { skip: noNats, timeout: 30_000 }, () => {
  it("knows who is alive, what they tell, and who leaves", async () => {
    await using server = await NatsServer.start();
    await using gateway = await FleetNode.open(server.url, "g");
    let used = 1;
    const worker = await FleetNode.open(server.url, "w", () => ({ ...WORKER, used }));
    await until(() => gateway.alive.length === 2);
    const { id } = worker.self;
    assert.deepEqual(gateway.members.get(id), { ...WORKER, url: undefined, id, name: "w" });
    used = 2;
    worker.members.tell();
    await until(() => gateway.members.get(id)?.used === 2);
    await worker[Symbol.asyncDispose]();
    await until(() => gateway.members.get(id) === undefined);
    const changes = gateway.changes.filter(({ member }) => member.name === "w");
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ["joined", "changed", "lost"],
    );
  });

  it("loses a node that falls silent, and no other", async () => {
    await using server = await NatsServer.start();
    await using gateway = await FleetNode.open(server.url, "g");
    await using _other = await FleetNode.open(server.url, "other");
    await using worker = await FleetNode.open(server.url, "w");
    await until(() => gateway.alive.length === 3);
    await worker.connection[Symbol.asyncDispose]();
    await until(() => gateway.alive.length === 2);
    assert.deepEqual(gateway.alive, ["g", "other"]);
  });
});

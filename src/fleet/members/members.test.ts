import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { FleetConnection } from "../connection/connect.ts";
import { Subjects } from "../subjects.ts";
import type { NodeState } from "./beat.ts";
import { type MemberChange, Members } from "./members.ts";

const BEAT_EVERY = 50;

const WORKER: NodeState = {
  role: "worker",
  version: "1.2.3",
  slots: 4,
  used: 1,
  labels: { gpu: "1" },
  warm: ["https://example.org/a.git"],
  isDraining: false,
  sessions: 1,
};

/** A node with its own connection, which beats fast. */
async function join(server: NatsServer, name: string, state: () => NodeState = () => WORKER) {
  const connection = await FleetConnection.open({
    url: server.url,
    subjects: new Subjects("p"),
    name,
  });
  const id = `1-${randomUUID()}`;
  const members = new Members({ connection, self: { id, name }, state, beatEvery: BEAT_EVERY });
  const changes: MemberChange[] = [];
  members.onChange((change) => changes.push(change));
  return {
    id,
    name,
    connection,
    members,
    changes,
    async until(condition: () => boolean) {
      while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async [Symbol.asyncDispose]() {
      members[Symbol.dispose]();
      await connection[Symbol.asyncDispose]();
    },
  };
}

const names = (members: Members): string[] => members.alive.map(({ name }) => name);

describe("Members", { skip: noNats, timeout: 30_000 }, () => {
  it("knows who is alive, what they tell, and who leaves", async () => {
    await using server = await NatsServer.start();
    await using gateway = await join(server, "g");
    let used = 1;
    const worker = await join(server, "w", () => ({ ...WORKER, used }));
    await gateway.until(() => names(gateway.members).length === 2);
    assert.deepEqual(gateway.members.get(worker.id), {
      ...WORKER,
      url: undefined,
      id: worker.id,
      name: "w",
    });
    used = 2;
    worker.members.tell();
    await gateway.until(() => gateway.members.get(worker.id)?.used === 2);
    await worker[Symbol.asyncDispose]();
    await gateway.until(() => gateway.members.get(worker.id) === undefined);
    const kinds = gateway.changes.filter(({ member }) => member.name === "w");
    assert.deepEqual(
      kinds.map(({ kind }) => kind),
      ["joined", "changed", "lost"],
    );
  });

  it("loses a node that falls silent, and no other", async () => {
    await using server = await NatsServer.start();
    await using gateway = await join(server, "g");
    await using _other = await join(server, "other");
    const worker = await join(server, "w");
    await gateway.until(() => names(gateway.members).length === 3);
    await worker.connection[Symbol.asyncDispose]();
    await gateway.until(() => names(gateway.members).length === 2);
    assert.deepEqual(names(gateway.members), ["g", "other"]);
    worker.members[Symbol.dispose]();
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fill, GatewayNode, WorkerNode } from "../../../test/support/fleet-node.ts";
import { GuardedNats } from "../../../test/support/guarded-nats.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { bucketStream, openSessionStreams } from "../store/session-streams.ts";
import { askNode } from "./node-server.ts";

const never = new AbortController().signal;
const NODES = [
  { pool: "p", role: "gateway", name: "g" },
  { pool: "p", role: "worker", name: "w" },
] as const;

describe(
  "Permissions that are withdrawn from a running node",
  { skip: noNats, timeout: 120_000 },
  () => {
    it("end what it asks in words: of other nodes, of the queue, and of the sessions", async () => {
      await using nats = await GuardedNats.start(NODES);
      const connection = await nats.connect("g");
      const { subjects } = connection;
      await using gateway = new GatewayNode(connection, "g", {});
      using streams = await openSessionStreams(connection);
      await using worker = new WorkerNode(await nats.connect("w"), "w", { slots: 1 });
      await until(() => gateway.members.get(worker.self.id) !== undefined);
      assert.equal((await gateway.placer.place({}, never)).id, worker.self.id);
      assert.equal(await streams.find("s"), undefined);
      fill(worker);
      await until(() => gateway.members.get(worker.self.id)?.used === 1);

      await nats.withdraw(subjects.job("*"));
      await assert.rejects(gateway.placer.place({}, never), {
        code: "unavailable",
        message:
          "Cannot wait for a free slot: NATS refuses it to this gateway. Give its user the permissions " +
          "that `trunkline worker credentials` prints.",
      });

      await nats.withdraw(subjects.request("*.*", "*"));
      await assert.rejects(askNode(connection, worker.self, "take", {}), {
        code: "unavailable",
        message: /^Cannot reach node 'w': .*permission/i,
      });

      await nats.withdraw(`$JS.API.STREAM.MSG.GET.${bucketStream(subjects)}`);
      await assert.rejects(streams.find("s"), {
        code: "unavailable",
        message: /^NATS does not answer: .*permission/i,
      });
    });
  },
);

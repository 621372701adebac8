import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";

import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { UNUSED_READER } from "../stream-reader.ts";
import { watchBucket } from "./session-mirror.ts";

describe("watchBucket", { skip: noNats, timeout: 60_000 }, () => {
  it("tells all entries and each change, and leaves no reader in the server", async () => {
    await using server = await NatsServer.start();
    const nats = await connect({ servers: server.url });
    try {
      const kv = await new Kvm(nats).create("B");
      await kv.put("a", "1");
      await kv.put("a", "2");
      await kv.put("b.c", "3");
      const { consumers } = await jetstreamManager(nats);
      const watch = await watchBucket(nats, "B");
      const [reader] = await consumers.list("KV_B").next();
      assert.equal(reader?.config.inactive_threshold, UNUSED_READER * 1e6);
      const told: [string, string | undefined][] = [];
      const ended = (async () => {
        for await (const { key, value } of watch) {
          told.push([key, value && Buffer.from(value).toString("utf8")]);
        }
      })();
      await until(() => told.length === 2);
      await kv.put("d", "4");
      await kv.delete("a");
      await until(() => told.length === 4);
      assert.deepEqual(told, [
        ["a", "2"],
        ["b.c", "3"],
        ["d", "4"],
        ["a", undefined],
      ]);
      watch.stop();
      await ended;
      assert.deepEqual(await consumers.list("KV_B").next(), []);
    } finally {
      await nats.close();
    }
  });
});

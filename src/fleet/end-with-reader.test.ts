import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

import { NatsServer, noNats } from "../../test/support/nats-server.ts";
import { endWithReader, UNUSED_READER } from "./end-with-reader.ts";

describe("endWithReader", { skip: noNats, timeout: 60_000 }, () => {
  it("ends the messages of a reader that the server has forgotten, instead of keeping another there", async () => {
    await using server = await NatsServer.start();
    const nats = await connect({ servers: server.url });
    try {
      const { streams, consumers } = await jetstreamManager(nats);
      await streams.add({ name: "S", subjects: ["s"] });
      const options = { inactive_threshold: UNUSED_READER };
      const consumer = await jetstream(nats).consumers.get("S", options);
      const messages = await consumer.consume({ expires: 1_000, idle_heartbeat: 500 });
      endWithReader(messages);
      const { name, config } = await consumer.info();
      assert.equal(config.inactive_threshold, UNUSED_READER * 1e6);
      await consumers.delete("S", name);
      assert.deepEqual(await Array.fromAsync(messages), []);
      assert.notEqual((await consumer.info(true)).name, name);
    } finally {
      await nats.close();
    }
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

import { NatsServer, noNats } from "../../test/support/nats-server.ts";
import { openReader, UNUSED_READER } from "./stream-reader.ts";

const ALL = { deliver_policy: DeliverPolicy.All };
const OFTEN = { expires: 1_000, idle_heartbeat: 500 };

describe("openReader()", { skip: noNats, timeout: 60_000 }, () => {
  it("reads all messages in order, and leaves nothing in the server", async () => {
    await using server = await NatsServer.start();
    const nats = await connect({ servers: server.url, maxReconnectAttempts: -1 });
    try {
      const { streams, consumers } = await jetstreamManager(nats);
      await streams.add({ name: "S", subjects: ["s"] });
      const client = jetstream(nats);
      for (let at = 1; at <= 300; at++) await client.publish("s", String(at));
      const seen: number[] = [];
      {
        await using reader = await openReader(nats, "S", ALL, OFTEN);
        assert.equal(reader.pending, 300);
        const [info] = await consumers.list("S").next();
        assert.equal(info?.config.inactive_threshold, UNUSED_READER * 1e6);
        for await (const message of reader) {
          seen.push(Number(message.string()));
          if (seen.length === 300) await client.publish("s", "301");
          if (seen.length === 301) reader.stop();
        }
      }
      assert.deepEqual(
        seen,
        Array.from({ length: 301 }, (_, at) => at + 1),
      );
      assert.deepEqual(await consumers.list("S").next(), []);
    } finally {
      await nats.close();
    }
  });

  it("ends when the server has forgotten it, was silent, or was restarted", async () => {
    await using server = await NatsServer.start();
    const nats = await connect({ servers: server.url, maxReconnectAttempts: -1 });
    try {
      const { streams, consumers } = await jetstreamManager(nats);
      await streams.add({ name: "S", subjects: ["s"] });
      await using forgotten = await openReader(nats, "S", ALL, OFTEN);
      const [info] = await consumers.list("S").next();
      const ended = Array.fromAsync(forgotten);
      await consumers.delete("S", info?.name ?? "");
      assert.deepEqual(await ended, []);
      await using reader = await openReader(nats, "S", ALL, OFTEN);
      const silent = Array.fromAsync(reader);
      await server.pause();
      assert.deepEqual(await silent, []);
      server.resume();
      await using lost = await openReader(nats, "S", ALL, { expires: 30_000 });
      const disconnected = Array.fromAsync(lost);
      await server.kill();
      assert.deepEqual(await disconnected, []);
      await server.restart();
    } finally {
      await nats.close();
    }
  });

  it("does not wait for a server whose connection is lost while it ends", async () => {
    await using server = await NatsServer.start();
    const nats = await connect({ servers: server.url, maxReconnectAttempts: -1 });
    try {
      const { streams } = await jetstreamManager(nats);
      await streams.add({ name: "S", subjects: ["s"] });
      const reader = await openReader(nats, "S", ALL, OFTEN);
      await server.pause();
      const unanswered = nats.request("nobody", "", { timeout: 4_000 }).then(
        () => "answered",
        () => "unanswered",
      );
      const ending = reader[Symbol.asyncDispose]().then(() => "ended");
      await server.kill();
      assert.equal(await Promise.race([ending, unanswered]), "ended");
    } finally {
      await nats.close();
    }
  });
});

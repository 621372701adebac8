import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";

import { connectTo } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { Log } from "../../base/log.ts";
import { newRecord } from "../ownership/session-entry.ts";
import { UNUSED_READER } from "../stream-reader.ts";
import { openSessionStreams } from "./session-streams.ts";

function entryOf(id: string): string {
  const record = newRecord({ id, cwd: "/", agent: "a", notes: {} });
  return JSON.stringify({ record, epoch: 1, born: 1, node: "n", write: "w" });
}

describe("SessionMirror", { skip: noNats, timeout: 60_000 }, () => {
  it("has all entries and follows each change, and leaves no reader in the server", async () => {
    await using server = await NatsServer.start();
    await using connection = await connectTo(server.url, "g");
    using streams = await openSessionStreams(connection);
    const { sessions } = connection.subjects;
    const kv = await new Kvm(connection.nats).open(sessions);
    await kv.put("a", "1");
    await kv.put("a", entryOf("a"));
    await kv.put("b.c", entryOf("b.c"));
    const { consumers } = await jetstreamManager(connection.nats);
    const readers = () => consumers.list(`KV_${sessions}`).next();
    const mirror = streams.openMirror({ isAlive: () => false, log: new Log("error", () => {}) });
    const told: [string, boolean][] = [];
    mirror.onChange(({ id, now }) => told.push([id, now !== undefined]));
    await mirror.caughtUp();
    const [reader] = await readers();
    assert.equal(reader?.config.inactive_threshold, UNUSED_READER * 1e6);
    await kv.put("d", entryOf("d"));
    await kv.delete("a");
    await until(() => told.length === 4);
    assert.deepEqual(told, [
      ["a", true],
      ["b.c", true],
      ["d", true],
      ["a", false],
    ]);
    await mirror[Symbol.asyncDispose]();
    assert.deepEqual(await readers(), []);
  });
});

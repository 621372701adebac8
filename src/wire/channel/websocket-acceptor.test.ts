import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { SMALL, WebSocketHarness } from "../../../test/support/websocket-harness.ts";

const UPGRADE = {
  connection: "upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

describe("WebSocketAcceptor", { timeout: 600_000 }, () => {
  it("closes a connection that leaves its heartbeats unanswered, and keeps those that answer", async () => {
    await using harness = await WebSocketHarness.open(SMALL, 20);
    const { client, channel } = await harness.connect();
    const alive = new RecordingSink();
    channel.receive(alive);
    const silent = harness.request(UPGRADE);
    await once(silent, "data");
    const dead = new RecordingSink();
    harness.accepted[1]?.channel.receive(dead);
    await once(silent, "close");
    await dead.until(({ ends }) => ends.length > 0);
    assert.ok(dead.ends[0] instanceof Error);
    assert.equal(harness.acceptor.size, 1);
    client.send("still here");
    await alive.until(({ messages }) => messages.length === 1);
  });

  it("keeps a client whose answers it does not read at present", async () => {
    await using harness = await WebSocketHarness.open(SMALL, 10);
    const { client, channel } = await harness.connect();
    // Without a sink the input is held, and the pongs with it.
    const closed = once(client, "close");
    for (let i = 0; i < 6; i++) await Promise.race([once(client, "ping"), closed]);
    assert.equal(client.readyState, client.OPEN);
    client.send("still here");
    const sink = new RecordingSink();
    channel.receive(sink);
    await sink.until(({ messages, ends }) => messages.length + ends.length > 0);
    assert.deepEqual(sink.messages, ["still here"]);
  });

  it("refuses an invalid upgrade", async () => {
    await using harness = await WebSocketHarness.open();
    const bad = [
      { ...UPGRADE, "sec-websocket-key": "short" },
      { ...UPGRADE, "sec-websocket-version": "1" },
      { ...UPGRADE, upgrade: "h2c" },
    ];
    for (const headers of bad) {
      const socket = harness.request(headers);
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(String(answer), /^HTTP\/1.1 4\d\d /);
    }
    assert.equal(harness.acceptor.size, 0);
    assert.equal(harness.accepted.length, 0);
  });

  it("closes every connection when it is disposed", async () => {
    await using harness = await WebSocketHarness.open();
    const sinks: RecordingSink[] = [];
    for (let i = 0; i < 3; i++) {
      const { channel } = await harness.connect();
      sinks.push(new RecordingSink());
      channel.receive(sinks[i] as RecordingSink);
    }
    harness.acceptor[Symbol.dispose]();
    for (const sink of sinks) await sink.until(({ ends }) => ends.length > 0);
    assert.equal(harness.acceptor.size, 0);
  });
});

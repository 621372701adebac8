import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { WebSocketHarness } from "../../../test/support/websocket-harness.ts";

describe("webSocketChannel", { timeout: 600_000 }, () => {
  it("reports binary frames and frames that are not UTF-8, and continues", async () => {
    await using harness = await WebSocketHarness.open();
    const { client, channel } = await harness.connect();
    const sink = new RecordingSink();
    channel.receive(sink);
    client.send("first");
    client.send(Buffer.from("{}"), { binary: true });
    client.send(Buffer.from("x".repeat(1001)), { binary: true });
    client.send(Buffer.from([0x7b, 0xed, 0xa0, 0x80]), { binary: false });
    client.send("last 🙂");
    await sink.until(({ messages }) => messages.length === 2);
    assert.deepEqual(sink.messages, ["first", "last 🙂"]);
    assert.deepEqual(
      sink.faults.map(({ kind, size }) => `${kind} ${size}`),
      ["encoding 2", "encoding 1001", "encoding 4"],
    );
    void channel.send("answer");
    const [answer] = (await once(client, "message")) as [Buffer];
    assert.equal(String(answer), "answer");
  });

  it("joins fragments, also within characters, and accepts a message of exactly the limit", async () => {
    await using harness = await WebSocketHarness.open();
    const { client, channel } = await harness.connect();
    const sink = new RecordingSink();
    channel.receive(sink);
    const bytes = Buffer.from(`🙂${"x".repeat(996)}`);
    for (const [index, byte] of bytes.entries()) {
      client.send(Buffer.of(byte), { binary: false, fin: index === bytes.length - 1 });
    }
    client.send("x".repeat(1001));
    await sink.until(({ faults }) => faults.length === 1);
    assert.deepEqual(sink.messages, [String(bytes)]);
    assert.equal(sink.faults[0]?.kind, "oversize");
  });

  it("closes on a frame far over the limit, without reading it", async () => {
    await using harness = await WebSocketHarness.open();
    const { client, channel } = await harness.connect();
    const sink = new RecordingSink();
    channel.receive(sink);
    client.send("x".repeat(2001));
    const [code] = (await once(client, "close")) as [number];
    assert.equal(code, 1009);
    await sink.until(({ ends }) => ends.length > 0);
    assert.ok(sink.ends[0] instanceof Error);
  });

  it("keeps messages that come before there is a sink", async () => {
    await using harness = await WebSocketHarness.open();
    const { client, channel } = await harness.connect();
    client.send("early");
    await new Promise((resolve) => client.ping("", undefined, resolve));
    for (let i = 0; i < 5; i++) await turn();
    const sink = new RecordingSink();
    channel.receive(sink);
    await sink.until(({ messages }) => messages.length === 1);
  });

  it("distinguishes an orderly end from a broken connection, also for a late sink", async () => {
    await using harness = await WebSocketHarness.open();
    for (const isOrderly of [true, false]) {
      const { client, channel, socket } = await harness.connect();
      const sink = new RecordingSink();
      channel.receive(sink);
      if (isOrderly) client.close(1000);
      else client.terminate();
      await sink.until(({ ends }) => ends.length > 0);
      assert.equal(sink.ends[0] === undefined, isOrderly);
      if (!socket.closed) await once(socket, "close");
      const late = new RecordingSink();
      channel.receive(late);
      assert.ok(late.ends[0] instanceof Error);
    }
  });

  it("puts the frames of one turn of the event loop into one write", async (t) => {
    await using harness = await WebSocketHarness.open();
    const { client, channel, socket } = await harness.connect();
    channel.receive(new RecordingSink());
    const writev = t.mock.method(socket as unknown as { _writev: () => void }, "_writev");
    const write = t.mock.method(socket as unknown as { _write: () => void }, "_write");
    for (let i = 0; i < 100; i++) void channel.send(`message ${i}`);
    const received: string[] = [];
    client.on("message", (data: Buffer) => received.push(String(data)));
    while (received.length < 100) await once(client, "message");
    assert.equal(writev.mock.callCount() + write.mock.callCount(), 1);
  });

  it("pauses its input until every returned promise has settled", async () => {
    await using harness = await WebSocketHarness.open();
    const { client, channel } = await harness.connect();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holds = [first.promise, second.promise];
    const sink = new RecordingSink();
    const record = sink.message.bind(sink);
    sink.message = (text) => {
      void record(text);
      return holds.shift();
    };
    channel.receive(sink);
    // Both in one segment, so that both are read before the pause takes hold.
    const below = (client as unknown as { _socket: Socket })._socket;
    below.cork();
    client.send("1");
    client.send("2");
    below.uncork();
    await sink.until(({ messages }) => messages.length === 2);
    second.resolve();
    await turn();
    client.send("3");
    await new Promise((resolve) => client.ping("", undefined, resolve));
    for (let i = 0; i < 10; i++) await turn();
    assert.deepEqual(sink.messages, ["1", "2"]);
    first.resolve();
    await sink.until(({ messages }) => messages.length === 3);
  });
});

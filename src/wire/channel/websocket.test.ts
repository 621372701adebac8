import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { WebSocket } from "ws";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import type { Channel, ChannelLimits } from "../channel.ts";
import { WebSocketAcceptor } from "./websocket-acceptor.ts";

const SMALL = { maxMessage: 1000, closeGrace: 200 };

/** A server that accepts channels, and clients that speak below them. */
class Harness implements AsyncDisposable {
  readonly acceptor: WebSocketAcceptor;
  readonly accepted: { channel: Channel<string>; socket: Socket }[] = [];
  readonly #server = createServer();
  readonly #clients: (WebSocket | Socket)[] = [];

  private constructor(limits: Partial<ChannelLimits>, heartbeat?: number) {
    this.acceptor = new WebSocketAcceptor(limits, heartbeat);
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.acceptor.accept(request, socket, head).then((channel) => {
        this.accepted.push({ channel, socket: request.socket });
        this.#server.emit("accepted");
      });
    });
  }

  static async open(limits: Partial<ChannelLimits> = SMALL, heartbeat?: number): Promise<Harness> {
    const harness = new Harness(limits, heartbeat);
    harness.#server.listen(0, "127.0.0.1");
    await once(harness.#server, "listening");
    return harness;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** A client of the `ws` library, and the server's side of its connection. */
  async connect(): Promise<{ client: WebSocket; channel: Channel<string>; socket: Socket }> {
    const client = new WebSocket(`ws://127.0.0.1:${this.port}`);
    this.#clients.push(client);
    await Promise.all([once(client, "open"), once(this.#server, "accepted")]);
    const last = this.accepted.at(-1);
    assert.ok(last);
    return { client, ...last };
  }

  /** A bare connection that has sent a request. */
  request(headers: Record<string, string>): Socket {
    const socket = connect(this.port, "127.0.0.1");
    this.#clients.push(socket);
    const lines = Object.entries({ host: "127.0.0.1", ...headers }).map(([k, v]) => `${k}: ${v}`);
    socket.write(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) {
      if (client instanceof WebSocket) client.terminate();
      else client.destroy();
    }
    this.acceptor[Symbol.dispose]();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const UPGRADE = {
  connection: "upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

describe("webSocketChannel", { timeout: 20_000 }, () => {
  it("reports binary frames and frames that are not UTF-8, and goes on", async () => {
    await using harness = await Harness.open();
    const { client, channel } = await harness.connect();
    const sink = new RecordingSink();
    channel.receive(sink);
    client.send("first");
    client.send(Buffer.from("{}"), { binary: true });
    client.send(Buffer.from([0x7b, 0xed, 0xa0, 0x80]), { binary: false });
    client.send("last 🙂");
    await sink.until(({ messages }) => messages.length === 2);
    assert.deepEqual(sink.messages, ["first", "last 🙂"]);
    assert.deepEqual(
      sink.faults.map(({ kind, size }) => `${kind} ${size}`),
      ["encoding 2", "encoding 4"],
    );
    void channel.send("answer");
    const [answer] = (await once(client, "message")) as [Buffer];
    assert.equal(String(answer), "answer");
  });

  it("joins fragments, across characters, and takes one message of exactly the limit", async () => {
    await using harness = await Harness.open();
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

  it("ends the conversation on a frame far over the limit, without reading it", async () => {
    await using harness = await Harness.open();
    const { client, channel } = await harness.connect();
    const sink = new RecordingSink();
    channel.receive(sink);
    client.send("x".repeat(2001));
    const [code] = (await once(client, "close")) as [number];
    assert.equal(code, 1009);
    await sink.until(({ ends }) => ends.length > 0);
    assert.ok(sink.ends[0] instanceof Error);
  });

  it("keeps what comes before there is a sink", async () => {
    await using harness = await Harness.open();
    const { client, channel } = await harness.connect();
    client.send("early");
    await new Promise((resolve) => client.ping("", undefined, resolve));
    for (let i = 0; i < 5; i++) await turn();
    const sink = new RecordingSink();
    channel.receive(sink);
    await sink.until(({ messages }) => messages.length === 1);
  });

  it("tells an orderly end from a broken connection, also to a sink that comes late", async () => {
    await using harness = await Harness.open();
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
    await using harness = await Harness.open();
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

  it("holds its input until every promise it was given has settled", async () => {
    await using harness = await Harness.open();
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

describe("WebSocketAcceptor", { timeout: 20_000 }, () => {
  it("ends a connection that leaves its heartbeats unanswered, and keeps those that answer", async () => {
    await using harness = await Harness.open(SMALL, 20);
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
    await using harness = await Harness.open(SMALL, 10);
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

  it("refuses what is no proper upgrade", async () => {
    await using harness = await Harness.open();
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

  it("takes every connection with it when it is disposed", async () => {
    await using harness = await Harness.open();
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

import assert from "node:assert/strict";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { connectTo } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { NatsSocketPair } from "../../../test/support/nats-socket-pair.ts";
import { until } from "../../../test/support/until.ts";
import type { FleetConnection } from "./connect.ts";
import {
  DATA,
  END,
  encodeFrame,
  following,
  readFrame,
  RESET,
  STATE,
  stateFrame,
  WINDOW,
} from "./nats-socket.ts";

describe("Frames of a connection between nodes", () => {
  it("are read as they were written", () => {
    const chunks = [Buffer.from("ab"), Buffer.from("c")];
    const data = Buffer.from("abc");
    const none = Buffer.alloc(0);
    assert.deepEqual(readFrame(encodeFrame(DATA, 7, ...chunks)), { kind: DATA, number: 7, data });
    assert.deepEqual(readFrame(encodeFrame(END, 8)), { kind: END, number: 8, data: none });
    const state = readFrame(stateFrame(9, 2 ** 47));
    assert.deepEqual([state?.kind, state?.number], [STATE, 9]);
    assert.equal(state?.data.readUIntBE(0, 6), 2 ** 47);
    const why = Buffer.from("é");
    assert.deepEqual(readFrame(encodeFrame(RESET, 1, why)), { kind: RESET, number: 1, data: why });
  });

  it("are recognised by their form", () => {
    for (const bytes of [[], [0, 0, 0, 0], [2, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0]]) {
      assert.equal(readFrame(Uint8Array.from(bytes)), undefined);
    }
  });

  it("have numbers that begin again after the last one", () => {
    assert.equal(following(2 ** 32 - 1), 0);
    assert.equal(readFrame(encodeFrame(END, 2 ** 32 - 1))?.number, 2 ** 32 - 1);
  });
});

// Loaded by import: with require() the test of a lost message does not end.

/** Milliseconds between the signs of life of a pair, whose silence is not to end it in a test. */
const CALM = 10_000;
const QUICK = 50;

describe("NatsSocket", { skip: noNats, timeout: 60_000 }, () => {
  let server: NatsServer;
  let near: FleetConnection;
  let far: FleetConnection;

  before(async () => {
    server = await NatsServer.start("max_payload: 10000");
    near = await connectTo(server.url, "g");
    far = await connectTo(server.url, "w");
  });

  after(async () => {
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it("sends what is written in one turn together, in messages that the server accepts", async () => {
    using pair = await NatsSocketPair.open(near, far, CALM);
    const before = near.nats.stats().outMsgs;
    for (let written = 0; written < 2000; written++) pair.near.write("0123456789");
    pair.near.end();
    const reading = text(pair.far);
    pair.far.end();
    pair.near.resume();
    assert.equal(await reading, "0123456789".repeat(2000));
    // The first write, two messages within `max_payload`, and the end.
    assert.equal(near.nats.stats().outMsgs - before, 4);
    await pair.closed();
    assert.deepEqual(pair.errors, {});
  });

  it("stops sending when the reader stops, and holds no more than the window", async () => {
    using pair = await NatsSocketPair.open(near, far, CALM);
    const before = near.nats.stats().outBytes;
    for (let written = 0; written < 30; written++) pair.near.write(Buffer.alloc(WINDOW / 10));
    pair.near.end();
    await until(() => near.nats.stats().outBytes - before >= WINDOW);
    await near.nats.flush();
    await far.nats.flush();
    const sent = near.nats.stats().outBytes - before;
    assert.ok(sent < WINDOW * 1.01, `${sent} bytes were sent`);
    assert.ok(pair.near.writableLength > WINDOW);
    let received = 0;
    for await (const chunk of pair.far) received += (chunk as Buffer).length;
    assert.equal(received, 30 * Math.floor(WINDOW / 10));
  });

  const violations: Record<string, [frames: Buffer[], error: RegExp]> = {
    "a missing message": [[encodeFrame(DATA, 1)], /lost a message: number 1 came instead of 0/],
    "a repeated message": [
      [encodeFrame(DATA, 0), encodeFrame(DATA, 0)],
      /number 0 came instead of 1/,
    ],
    "a lost last message": [[stateFrame(1, 0)], /number 1 came instead of 0/],
    "data after the end": [[encodeFrame(END, 0), encodeFrame(END, 1)], /data after its end/],
    "what is no frame": [[Buffer.from("abc")], /no frame/],
  };
  for (const [name, [frames, error]] of Object.entries(violations)) {
    it(`ends both sides at once on ${name}`, async () => {
      using pair = await NatsSocketPair.open(near, far, CALM);
      for (const frame of frames) near.nats.publish(pair.toFar, frame);
      await pair.closed();
      assert.match(String(pair.errors.far), error);
      assert.match(String(pair.errors.near), error);
    });
  }

  it("ends a sender that exceeds the window", async () => {
    using pair = await NatsSocketPair.open(near, far, CALM);
    const data = Buffer.alloc(9000);
    for (let number = 0; number * data.length < WINDOW * 1.2; number++) {
      near.nats.publish(pair.toFar, encodeFrame(DATA, number, data));
    }
    await pair.closed();
    assert.match(String(pair.errors.far), /more than the 1048576 bytes/);
  });

  it("tells the other side why it was destroyed, and leaves no subscription", async () => {
    using pair = await NatsSocketPair.open(near, far, CALM);
    pair.near.destroy(new Error("enough"));
    await pair.closed();
    assert.match(String(pair.errors.far), /enough/);
    await far.nats.flush();
    const sent = far.nats.stats().inMsgs;
    near.nats.publish(pair.toFar, encodeFrame(END, 0));
    await near.nats.flush();
    await far.nats.flush();
    assert.equal(far.nats.stats().inMsgs, sent);
  });

  it("delivers all that was sent before an orderly end, although the sender reads no more", async () => {
    using pair = await NatsSocketPair.open(near, far, CALM);
    pair.near.end("last words");
    await once(pair.near, "finish");
    pair.near.destroy();
    await far.nats.flush();
    pair.far.write("to nobody");
    assert.equal(await text(pair.far), "last words");
    await pair.closed();
    assert.deepEqual(pair.errors, {});
  });
});

describe("NatsSocket when NATS fails", { skip: noNats, timeout: 60_000 }, () => {
  it("outlives a restart in which nothing was lost, and sends then what was written meanwhile", async () => {
    await using server = await NatsServer.start();
    await using near = await connectTo(server.url, "g");
    await using far = await connectTo(server.url, "w");
    using pair = await NatsSocketPair.open(near, far, CALM);
    await server.kill();
    await until(() => !near.isConnected && !far.isConnected);
    pair.near.end("written meanwhile");
    await server.restart();
    assert.equal(await text(pair.far), "written meanwhile");
  });

  it("ends both sides if a message was lost", async () => {
    await using server = await NatsServer.start();
    await using near = await connectTo(server.url, "g");
    await using far = await connectTo(server.url, "w");
    using pair = await NatsSocketPair.open(near, far, CALM);
    await server.pause();
    pair.near.write("lost");
    await new Promise((resolve) => setImmediate(resolve));
    await server.kill();
    await until(() => !near.isConnected && !far.isConnected);
    await server.restart();
    await until(() => near.isConnected && far.isConnected);
    await far.nats.flush();
    pair.near.write("next");
    await pair.closed();
    assert.match(String(pair.errors.far), /number 1 came instead of 0/);
  });

  it("ends both sides of a server that is paused", async () => {
    await using server = await NatsServer.start();
    const near = await connectTo(server.url, "g");
    const far = await connectTo(server.url, "w");
    using pair = await NatsSocketPair.open(near, far, QUICK);
    await server.pause();
    pair.near.write("x");
    await pair.closed();
    assert.match(String(pair.errors.near), /does not answer any more/);
    assert.match(String(pair.errors.far), /does not answer any more/);
    server.resume();
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
  });

  it("closes while NATS is away", async () => {
    await using server = await NatsServer.start();
    await using near = await connectTo(server.url, "g");
    await using far = await connectTo(server.url, "w");
    using pair = await NatsSocketPair.open(near, far, CALM);
    await server.kill();
    await until(() => !near.isConnected && !far.isConnected);
    pair.near.end("unsent");
    pair.near.destroy();
    pair.far.destroy();
    await pair.closed();
    assert.deepEqual(pair.errors, {});
  });
});

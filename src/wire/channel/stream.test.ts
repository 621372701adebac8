import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { type ChannelLimits, ROOM } from "../channel.ts";
import { streamChannel } from "./stream.ts";

/** A channel between two streams that the test holds the other ends of. */
function open(limits: Partial<ChannelLimits> = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const channel = streamChannel(input, output, { limits: { closeGrace: 200, ...limits } });
  const sink = new RecordingSink();
  return { input, output, channel, sink };
}

/** A writable that takes a chunk only when it is told to. */
class Gate extends Writable {
  readonly chunks: string[] = [];
  #take: (() => void) | undefined;

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.chunks.push(String(chunk));
    this.#take = done;
  }

  takeOne(): void {
    this.#take?.();
  }
}

describe("streamChannel", { timeout: 30_000 }, () => {
  it("lets other work run between the reads of a flood", async () => {
    const { input, channel, sink } = open();
    const line = `${"x".repeat(64 * 1024 - 1)}\n`;
    input.setMaxListeners(0);
    for (let count = 0; count < 50; count++) input.write(line);
    channel.receive(sink);
    const heard: number[] = [];
    for (let turns = 0; turns < 10; turns++) {
      await turn();
      heard.push(sink.messages.length);
    }
    assert.ok(Number(heard[9]) > 3, `nothing is read: ${heard.join(", ")}`);
    assert.ok(Number(heard[9]) < 25, `all is read at once: ${heard.join(", ")}`);
    await sink.until(({ messages }) => messages.length === 50);
    await channel[Symbol.asyncDispose]();
  });

  it("still sends after the other side has finished sending", async () => {
    const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address() as { port: number };
    const near = connect({ port: address.port, host: "127.0.0.1", allowHalfOpen: true });
    const [far] = (await once(server, "connection")) as [Socket];
    const channel = streamChannel(near, near);
    const sink = new RecordingSink();
    channel.receive(sink);
    far.end("last\n");
    await sink.until(({ ends }) => ends.length > 0);
    assert.deepEqual(sink.messages, ["last"]);
    assert.deepEqual(sink.ends, [undefined]);
    void channel.send("answer");
    const [answer] = (await once(far, "data")) as [Buffer];
    assert.equal(String(answer), "answer\n");
    const ended = once(far, "end");
    far.resume();
    await channel[Symbol.asyncDispose]();
    await ended;
    assert.deepEqual(sink.ends, [undefined]);
    server.close();
  });

  it("puts everything that is sent in one turn of the event loop into one write", async (t) => {
    const { output, channel } = open();
    const write = t.mock.method(output, "write");
    for (let i = 0; i < 100; i++) assert.equal(channel.send(`m${i}`), ROOM);
    assert.equal(write.mock.callCount(), 0);
    await turn();
    assert.equal(write.mock.callCount(), 1);
    void channel.send("next turn");
    await turn();
    assert.equal(write.mock.callCount(), 2);
    const sent = write.mock.calls.map((call) => String(call.arguments[0]));
    assert.match(sent[0] ?? "", /^m0\nm1\nm2\n.*\nm99\n$/s);
    assert.equal(sent[1], "next turn\n");
  });

  it("does not collect more than its high water in one turn", (t) => {
    const { output, channel } = open({ highWater: 1000 });
    const write = t.mock.method(output, "write");
    for (let i = 0; i < 10; i++) void channel.send("x".repeat(600));
    assert.ok(write.mock.callCount() >= 1);
  });

  it("pauses its input until every returned promise has settled", async () => {
    const { input, channel, sink } = open();
    channel.receive(sink);
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holds = [first.promise, second.promise];
    const record = sink.message.bind(sink);
    sink.message = (text) => {
      void record(text);
      return holds.shift();
    };
    input.write("1\n2\n");
    await sink.until(({ messages }) => messages.length === 2);
    input.write("3\n");
    second.resolve();
    for (let i = 0; i < 5; i++) await turn();
    assert.deepEqual(sink.messages, ["1", "2"]);
    first.reject(new Error("settled is settled"));
    await sink.until(({ messages }) => messages.length === 3);
  });

  it("reports that the peer is gone if the output dies after the input has ended", async () => {
    const { input, output, channel, sink } = open();
    channel.receive(sink);
    input.end("last\n");
    await sink.until(({ ends }) => ends.length === 1);
    output.destroy();
    await sink.until(({ ends }) => ends.length === 2);
    assert.equal(sink.ends[0], undefined);
    assert.ok(sink.ends[1] instanceof Error);
  });

  it("continues reading if the other side only stopped reading", async () => {
    const { input, output, channel, sink } = open();
    channel.receive(sink);
    output.destroy();
    await once(output, "close");
    input.write("still\n");
    await sink.until(({ messages }) => messages.length === 1);
    assert.deepEqual(sink.ends, []);
  });

  it("notifies the sink once of input that breaks or is cut off", async () => {
    const reason = new Error("cable pulled");
    for (const [error, says] of [
      [reason, /cable pulled/],
      [undefined, /cut off/],
    ] as const) {
      const { input, output, channel, sink } = open();
      channel.receive(sink);
      input.write("whole\nhal");
      await sink.until(({ messages }) => messages.length === 1);
      input.destroy(error);
      await sink.until(({ ends }) => ends.length > 0);
      output.destroy();
      await turn();
      assert.equal(sink.ends.length, 1);
      assert.match(String(sink.ends[0]), says);
      assert.deepEqual(sink.messages, ["whole"]);
    }
  });

  it("tells a late sink what happened before", async () => {
    for (const error of [new Error("cable pulled"), undefined]) {
      const { input, channel, sink } = open();
      input.destroy(error);
      await once(input, "close").catch(() => {});
      channel.receive(sink);
      await sink.until(({ ends }) => ends.length > 0);
      assert.ok(sink.ends[0] instanceof Error);
    }
  });

  it("delivers nothing after its sink has aborted it in the middle of a chunk", async () => {
    const { input, channel, sink } = open();
    const record = sink.message.bind(sink);
    sink.message = (text) => {
      channel.abort(new Error("enough"));
      return record(text);
    };
    channel.receive(sink);
    input.write("1\n2\n\xff\n");
    await sink.until(({ ends }) => ends.length > 0);
    await turn();
    assert.deepEqual(sink.messages, ["1"]);
    assert.deepEqual(sink.faults, []);
    assert.equal(sink.ends.length, 1);
  });

  it("notifies the sink of a failed write, and ignores those that follow", async () => {
    const input = new PassThrough();
    const output = new Writable({
      write: (_chunk, _encoding, done) => done(new Error("EPIPE")),
    });
    const channel = streamChannel(input, output);
    const sink = new RecordingSink();
    channel.receive(sink);
    void channel.send("a");
    await sink.until(({ ends }) => ends.length > 0);
    assert.match(String(sink.ends[0]), /EPIPE/);
    assert.equal(channel.send("b"), ROOM);
    await channel[Symbol.asyncDispose]();
    assert.equal(sink.ends.length, 1);
  });

  it("releases waiting senders, however low its high water is", async () => {
    const output = new Gate({ highWaterMark: 64 * 1024 });
    const channel = streamChannel(new PassThrough(), output, { limits: { highWater: 10 } });
    let room = ROOM;
    for (let i = 0; room === ROOM; i++) {
      assert.ok(i < 1000, "the sender was never asked to wait");
      room = channel.send("x".repeat(1000));
      await turn();
    }
    const sender = { waits: true };
    void room.then(() => (sender.waits = false));
    while (sender.waits) {
      assert.ok(output.writableLength > 0, "all is written, and the sender still waits");
      output.takeOne();
      await turn();
    }
  });

  it("flushes everything that was sent, also when it is disposed twice at once", async () => {
    const output = new Gate();
    const channel = streamChannel(new PassThrough(), output, { limits: { closeGrace: 5000 } });
    for (const message of ["1", "2", "3"]) {
      void channel.send(message);
      await turn();
    }
    const disposed = [channel[Symbol.asyncDispose](), channel[Symbol.asyncDispose]()];
    for (let i = 0; i < 5; i++) {
      await turn();
      output.takeOne();
    }
    await Promise.all(disposed);
    assert.equal(output.chunks.join(""), "1\n2\n3\n");
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Channel, type ChannelLimits, ROOM, SlowReaderError } from "../../src/wire/channel.ts";
import { RecordingSink } from "../support/recording-sink.ts";

/** Two ends of one conversation, and the end of everything that was made for it. */
export interface ChannelPair extends AsyncDisposable {
  readonly left: Channel<string>;
  readonly right: Channel<string>;
}

/** Where there are last words, the left side has said them and finished sending; it still reads. */
export type MakePair = (limits: Partial<ChannelLimits>, lastWords?: string) => Promise<ChannelPair>;

/** What the transport below a channel can do. */
export interface Transport {
  /**
   * Whether a side can finish sending and go on reading. Streams can, and so does every HTTP
   * exchange, whose request is over when its answer begins. A WebSocket cannot: whoever gets a Close
   * frame must send one back, and nothing after it (RFC 6455, section 5.5.1).
   */
  readonly canHalfClose: boolean;
  /** Only the right side sends more than last words: it answers an HTTP request. */
  readonly isOneWay?: boolean;
}

const KiB = 1024;
const SMALL: ChannelLimits = {
  maxMessage: 64 * KiB,
  highWater: 64 * KiB,
  maxUnsent: 1024 * KiB,
  closeGrace: 200,
};

/** What every channel promises, whatever it runs over, in each direction that it has. */
export function channelContract(name: string, transport: Transport, makePair: MakePair): void {
  describe(`${name} channel`, { timeout: 60_000 }, () => {
    const meet = async (limits: Partial<ChannelLimits> = SMALL, lastWords?: string) => {
      const pair = await makePair(limits, lastWords);
      const sinks = { left: new RecordingSink(), right: new RecordingSink() };
      pair.left.receive(sinks.left);
      pair.right.receive(sinks.right);
      return { pair, sinks, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
    };

    if (transport.canHalfClose) {
      it("continues to send to a side that has only finished sending", async () => {
        await using talk = await meet(SMALL, "last words");
        const { left, right } = talk.sinks;
        await right.until(({ ends }) => ends.length > 0);
        assert.deepEqual(right.messages, ["last words"]);
        assert.deepEqual(right.ends, [undefined], "the end of input is not a failure");
        void talk.pair.right.send("still heard");
        await left.until(({ messages }) => messages.length === 1);
        void talk.pair.right.send("to the end");
        await talk.pair.right[Symbol.asyncDispose]();
        await left.until(({ ends }) => ends.length > 0);
        assert.deepEqual(left.messages, ["still heard", "to the end"]);
        assert.deepEqual(right.ends, [undefined]);
      });
    } else {
      it("ends in both directions at once, in order", async () => {
        await using talk = await meet();
        const { left, right } = talk.sinks;
        void talk.pair.left.send("last words");
        await talk.pair.left[Symbol.asyncDispose]();
        await right.until(({ ends }) => ends.length > 0);
        assert.deepEqual(right.messages, ["last words"]);
        assert.deepEqual(right.ends, [undefined], "closing is not a failure");
        assert.equal(talk.pair.right.send("to nobody"), ROOM);
        await talk.pair.right[Symbol.asyncDispose]();
        assert.deepEqual(left.messages, []);
      });
    }

    for (const side of ["left", "right"] as const) {
      const other = side === "left" ? "right" : "left";

      it(`tells both sides when the ${side} one aborts`, async () => {
        await using talk = await meet();
        void talk.pair.right.send("first");
        await talk.sinks.left.until(({ messages }) => messages.length === 1);
        const reason = new Error("enough");
        talk.pair[side].abort(reason);
        assert.deepEqual(talk.sinks[side].ends, [reason]);
        await talk.sinks[other].until(({ ends }) => ends.length > 0);
      });

      it(`silently drops what is sent after the ${side} side aborted`, async () => {
        await using talk = await meet();
        const [from, to] = [talk.pair[side], talk.pair[other]];
        from.abort(new Error("enough"));
        await talk.sinks[other].until(({ ends }) => ends.length > 0);
        await from.send("too late");
        await to.send("too late");
        await to[Symbol.asyncDispose]();
        await from[Symbol.asyncDispose]();
        await from.send("too late");
        assert.deepEqual(talk.sinks[other].messages, []);
        assert.equal(talk.sinks[side].ends.length, 1);
      });
    }

    const directions =
      transport.isOneWay === true ? (["right"] as const) : (["left", "right"] as const);
    for (const side of directions) {
      const other = side === "left" ? "right" : "left";
      const direction = `${side} to ${other}`;
      const open = async (limits?: Partial<ChannelLimits>) => {
        const talk = await meet(limits);
        return {
          from: talk.pair[side],
          near: talk.sinks[side],
          far: talk.sinks[other],
          [Symbol.asyncDispose]: () => talk[Symbol.asyncDispose](),
        };
      };

      it(`delivers in order, ${direction}`, async () => {
        await using talk = await open();
        const sent = Array.from({ length: 2000 }, (_, i) => `message ${i}`);
        for (const message of sent) void talk.from.send(message);
        await talk.far.until(({ messages }) => messages.length === sent.length);
        assert.deepEqual(talk.far.messages, sent);
        assert.deepEqual(talk.near.messages, []);
      });

      it(`delivers every character and size up to the limit, ${direction}`, async () => {
        await using talk = await open();
        const sent = [
          "é",
          "日本語 🙂",
          "\u0000\u001f",
          "x".repeat(SMALL.maxMessage),
          "🙂".repeat(9999),
        ];
        for (const message of sent) void talk.from.send(message);
        await talk.far.until(({ messages }) => messages.length === sent.length);
        assert.deepEqual(talk.far.messages, sent);
      });

      it(`reports a message over the limit and continues, ${direction}`, async () => {
        await using talk = await open();
        const size = SMALL.maxMessage + 10_000;
        void talk.from.send("before");
        void talk.from.send("head" + "x".repeat(size - 8) + "tail");
        void talk.from.send("after");
        await talk.far.until(({ messages }) => messages.length === 2);
        assert.deepEqual(talk.far.messages, ["before", "after"]);
        const [fault] = talk.far.faults;
        assert.equal(talk.far.faults.length, 1);
        assert.equal(fault?.kind, "oversize");
        assert.equal(fault.limit, SMALL.maxMessage);
        assert.ok(fault.size >= size && fault.size < size + 16, `size was ${fault.size}`);
        assert.ok(fault.head.startsWith("head"));
      });

      it(`makes the sender wait while the reader pauses, and lets it continue, ${direction}`, async () => {
        await using talk = await open();
        const hold = Promise.withResolvers<void>();
        talk.far.hold = hold.promise;
        const message = "x".repeat(32 * KiB);
        let sent = 0;
        let room = ROOM;
        while (room === ROOM) {
          room = talk.from.send(message);
          sent++;
          assert.ok(sent < 4096, "the sender was never asked to wait");
          await new Promise((resolve) => setImmediate(resolve));
        }
        const stillWaiting = Symbol("still waiting");
        const next = new Promise((resolve) => setImmediate(resolve, stillWaiting));
        assert.equal(await Promise.race([room, next]), stillWaiting);
        assert.ok(talk.far.messages.length < sent, "input was not held");
        talk.far.hold = undefined;
        hold.resolve();
        await room;
        await talk.far.until(({ messages }) => messages.length === sent);
      });

      it(`closes if a reader never reads, in bounded memory, ${direction}`, async () => {
        await using talk = await open();
        talk.far.hold = new Promise(() => {});
        const message = "x".repeat(32 * KiB);
        for (let sent = 0; talk.near.ends.length === 0; sent++) {
          assert.ok(sent < 4096, "unsent messages were kept without bound");
          void talk.from.send(message);
          await new Promise((resolve) => setImmediate(resolve));
        }
        assert.ok(talk.near.ends[0] instanceof SlowReaderError, String(talk.near.ends[0]));
      });

      it(`flushes what was sent when it is disposed, ${direction}`, async () => {
        await using talk = await open({ ...SMALL, maxUnsent: Infinity, closeGrace: 30_000 });
        // More than the system would take by itself.
        const sent = Array.from({ length: 256 }, (_, i) => `${i}`.padEnd(32 * KiB));
        for (const message of sent) void talk.from.send(message);
        await talk.from[Symbol.asyncDispose]();
        await talk.far.until(({ ends }) => ends.length > 0);
        assert.deepEqual(talk.far.messages, sent);
        assert.deepEqual(talk.near.ends, []);
      });

      it(`is disposed in bounded time when the reader never reads, ${direction}`, async () => {
        await using talk = await open({ ...SMALL, maxUnsent: 64 * 1024 * KiB });
        talk.far.hold = new Promise(() => {});
        for (let sent = 0; sent < 512; sent++) void talk.from.send("x".repeat(32 * KiB));
        await talk.from[Symbol.asyncDispose]();
      });
    }
  });
}

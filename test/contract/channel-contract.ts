import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Channel, type ChannelLimits, ROOM, SlowReaderError } from "../../src/wire/channel.ts";
import { RecordingSink } from "../support/recording-sink.ts";

/** Two ends of one conversation, and the end of everything that was made for it. */
export interface ChannelPair extends AsyncDisposable {
  readonly left: Channel<string>;
  readonly right: Channel<string>;
  /** Ends what the left side sends, and nothing else, where the transport can. */
  readonly halfClose?: () => void;
}

export type MakePair = (limits: Partial<ChannelLimits>) => Promise<ChannelPair>;

const KiB = 1024;
const SMALL: ChannelLimits = {
  maxMessage: 64 * KiB,
  highWater: 64 * KiB,
  maxUnsent: 1024 * KiB,
  closeGrace: 200,
};

/** What every channel promises, whatever it runs over; each promise is held in both directions. */
export function channelContract(
  name: string,
  makePair: MakePair,
  options: { readonly canHalfClose?: boolean } = {},
): void {
  describe(`${name} channel`, { timeout: 60_000 }, () => {
    if (options.canHalfClose === true) {
      it("goes on sending to a side that has only finished sending", async () => {
        await using pair = await makePair(SMALL);
        const [left, right] = [new RecordingSink(), new RecordingSink()];
        pair.left.receive(left);
        pair.right.receive(right);
        void pair.left.send("last words");
        await right.until(({ messages }) => messages.length === 1);
        pair.halfClose?.();
        await right.until(({ ends }) => ends.length > 0);
        assert.deepEqual(right.ends, [undefined], "the end of input is not a failure");
        void pair.right.send("still heard");
        await left.until(({ messages }) => messages.length === 1);
        assert.deepEqual(left.messages, ["still heard"]);
      });
    }

    for (const direction of ["left to right", "right to left"] as const) {
      const isForward = direction === "left to right";
      const open = async (limits: Partial<ChannelLimits> = SMALL) => {
        const pair = await makePair(limits);
        const [from, to] = isForward ? [pair.left, pair.right] : [pair.right, pair.left];
        const [near, far] = [new RecordingSink(), new RecordingSink()];
        from.receive(near);
        to.receive(far);
        const { halfClose } = pair;
        return {
          from,
          to,
          near,
          far,
          halfClose,
          [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
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

      it(`reports a message over the limit and goes on, ${direction}`, async () => {
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

      it(`asks the sender to wait while the reader holds, and lets it go on, ${direction}`, async () => {
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

      it(`gives up a reader that never reads, in bounded memory, ${direction}`, async () => {
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
        await using talk = await open();
        const sent = Array.from({ length: 500 }, (_, i) => `message ${i}`);
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

      it(`tells both sides when one aborts, ${direction}`, async () => {
        await using talk = await open();
        void talk.from.send("first");
        await talk.far.until(({ messages }) => messages.length === 1);
        const reason = new Error("enough");
        talk.from.abort(reason);
        assert.deepEqual(talk.near.ends, [reason]);
        await talk.far.until(({ ends }) => ends.length > 0);
      });

      it(`drops what is sent after the end, without a word, ${direction}`, async () => {
        await using talk = await open();
        talk.from.abort(new Error("enough"));
        await talk.far.until(({ ends }) => ends.length > 0);
        await talk.from.send("too late");
        await talk.to.send("too late");
        await talk.to[Symbol.asyncDispose]();
        await talk.from[Symbol.asyncDispose]();
        await talk.from.send("too late");
        assert.deepEqual(talk.far.messages, []);
        assert.equal(talk.near.ends.length, 1);
      });
    }
  });
}

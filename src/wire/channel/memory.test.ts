import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { ROOM } from "../channel.ts";
import { memoryPair } from "./memory.ts";

describe("memoryPair", { timeout: 600_000 }, () => {
  it("never delivers inside send, nor before there is a sink", async () => {
    const [left, right] = memoryPair();
    const sink = new RecordingSink();
    void left.send("early");
    for (let i = 0; i < 3; i++) await turn();
    right.receive(sink);
    void left.send("late");
    assert.deepEqual(sink.messages, []);
    await sink.until(({ messages }) => messages.length === 2);
    assert.deepEqual(sink.messages, ["early", "late"]);
  });

  it("pauses delivery until every returned promise has settled", async () => {
    const [left, right] = memoryPair();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holds = [first.promise, second.promise];
    const sink = new RecordingSink();
    const record = sink.message.bind(sink);
    sink.message = (text) => {
      void record(text);
      return holds.shift();
    };
    right.receive(sink);
    for (const text of ["1", "2"]) void left.send(text);
    await sink.until(({ messages }) => messages.length === 2);
    void left.send("3");
    second.resolve();
    for (let i = 0; i < 5; i++) await turn();
    assert.deepEqual(sink.messages, ["1", "2"]);
    first.reject(new Error("settled is settled"));
    await sink.until(({ messages }) => messages.length === 3);
  });

  it("counts a message's bytes, not its characters", async () => {
    const [left, right] = memoryPair({ maxMessage: 9 });
    const sink = new RecordingSink();
    right.receive(sink);
    for (const text of ["日日日", "日日日x"]) void left.send(text);
    await sink.until(({ faults }) => faults.length === 1);
    assert.deepEqual(sink.messages, ["日日日"]);
    assert.equal(sink.faults[0]?.size, 10);
  });

  it("drops messages in transit when one side aborts, and releases waiting senders", async () => {
    const [left, right] = memoryPair({ highWater: 10 });
    const [near, far] = [new RecordingSink(), new RecordingSink()];
    left.receive(near);
    right.receive(far);
    const room = left.send("more than ten characters");
    assert.notEqual(room, ROOM);
    left.abort(new Error("enough"));
    await room;
    await turn();
    assert.deepEqual(far.messages, []);
    assert.match(String(far.ends[0]), /Peer gave up: enough/);
    assert.equal(near.ends.length, 1);
    assert.equal(right.send("too late"), ROOM);
  });

  it("can be disposed twice, from both sides at once", async () => {
    const [left, right] = memoryPair();
    await Promise.all([left, right, left].map((channel) => channel[Symbol.asyncDispose]()));
  });
});

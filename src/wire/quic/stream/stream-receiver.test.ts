import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ConnectionError } from "../connection-error.ts";
import { HeldBytes } from "./multiplexed-stream.ts";
import { StreamReceiver } from "./multiplexed-stream.ts";

const STEP = 128 * 1024;

function open(maxHeld = 1_000_000) {
  const granted: number[] = [];
  const held = new HeldBytes(maxHeld);
  const receiver: StreamReceiver = new StreamReceiver({
    held,
    grant: (bytes) => granted.push(bytes),
    breakOff: (error: ConnectionError) => receiver.fail(error),
  });
  return { receiver, granted, held };
}

describe("StreamReceiver", () => {
  it("returns all bytes once it has ended, in any number of chunks", async () => {
    const { receiver, held } = open();
    receiver.push(Buffer.from("one "), false);
    const all = receiver.readAll(100);
    receiver.push(Buffer.from("two"), false);
    receiver.push(Buffer.alloc(0), true);
    assert.equal(String(await all), "one two");
    assert.equal(held.held, 0);
  });

  it("copies its input", async () => {
    const { receiver } = open();
    const lent = Buffer.from("kept");
    receiver.push(lent, true);
    lent.fill(0);
    assert.equal(String(await receiver.readAll(100)), "kept");
  });

  it("aborts a stream that is longer than its reader allows, or begins wrong", async () => {
    const long = open();
    const all = long.receiver.readAll(5);
    long.receiver.push(Buffer.from("123456"), false);
    await assert.rejects(all, { trouble: "limit", message: /longer than the limit of 5 bytes/ });
    assert.equal(long.held.held, 0);
    const wrong = open();
    const looked: string[] = [];
    const refuse = {
      length: 4,
      problem: (begin: Buffer) => {
        looked.push(String(begin.subarray(0, 4)));
        return "it announces too much";
      },
    };
    const refused = wrong.receiver.readAll(1_000, refuse);
    wrong.receiver.push(Buffer.from("ab"), false);
    assert.deepEqual(looked, []);
    wrong.receiver.push(Buffer.from("cdef"), false);
    await assert.rejects(refused, /it announces too much/);
    assert.deepEqual(looked, ["abcd"]);
  });

  it("grants more room in steps, as its reader reads", async () => {
    const { receiver, granted, held } = open();
    for (let count = 0; count < 3; count++) receiver.push(Buffer.alloc(STEP / 2), false);
    assert.deepEqual([granted, held.held], [[], 1.5 * STEP]);
    const chunks = receiver.chunks();
    await chunks.next();
    assert.deepEqual(granted, []);
    await chunks.next();
    assert.deepEqual([granted, held.held], [[STEP], STEP / 2]);
  });

  it("aborts the newest stream if too much is held", async () => {
    const { receiver, held } = open(100);
    receiver.push(Buffer.alloc(60), false);
    receiver.push(Buffer.alloc(60), false);
    await assert.rejects(receiver.readAll(1_000), /Cannot hold 120 unread bytes.* limit .* is 100/);
    assert.equal(held.held, 0);
  });

  it("returns chunks before the failure that ended them, and everything that was complete", async () => {
    const cut = open().receiver;
    const chunks = cut.chunks();
    cut.push(Buffer.from("first"), false);
    assert.equal(String((await chunks.next()).value), "first");
    const next = chunks.next();
    cut.fail(new Error("broken"));
    await assert.rejects(next, /broken/);
    const whole = open().receiver;
    whole.push(Buffer.from("all"), true);
    whole.fail(new Error("broken"));
    assert.equal(String(await whole.readAll(10)), "all");
  });
});

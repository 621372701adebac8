import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LONGEST_PAYLOAD, WRITE_WINDOW } from "../control-frame.ts";
import { StreamSender } from "./multiplexed-stream.ts";

function open() {
  const pieces: [length: number, isLast: boolean][] = [];
  const pass = (piece: Uint8Array, isLast: boolean): void => {
    pieces.push([piece.length, isLast]);
  };
  const sender = new StreamSender({ pass }, WRITE_WINDOW);
  return { sender, pieces };
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  const turn = new Promise((resolve) => setImmediate(() => resolve(pending)));
  return (await Promise.race([promise.catch(() => {}), turn])) !== pending;
}

describe("StreamSender", () => {
  it("sends in pieces that fit a frame, the end with the last of them", async () => {
    const { sender, pieces } = open();
    await sender.add(Buffer.alloc(WRITE_WINDOW - 10), false);
    await sender.add(Buffer.alloc(0), true);
    assert.ok(pieces.every(([length]) => length <= LONGEST_PAYLOAD - 4));
    assert.equal(
      pieces.reduce((sum, [length]) => sum + length, 0),
      WRITE_WINDOW - 10,
    );
    assert.deepEqual(
      pieces.map(([, isLast]) => isLast),
      [false, true],
    );
    assert.equal(sender.isDone, true);
  });

  it("holds back what there is no room for, in order, and continues with room", async () => {
    const { sender, pieces } = open();
    const first = sender.add(Buffer.alloc(WRITE_WINDOW + 100), false);
    const second = sender.add(Buffer.alloc(50), true);
    const sent = () => pieces.reduce((sum, [length]) => sum + length, 0);
    assert.equal(sent(), WRITE_WINDOW);
    sender.giveRoom(100);
    assert.equal(await isSettled(first), true);
    assert.equal(await isSettled(second), false);
    assert.equal(sender.isDone, false);
    sender.giveRoom(50);
    await second;
    assert.deepEqual([sent(), pieces.at(-1)], [WRITE_WINDOW + 150, [50, true]]);
    assert.equal(sender.isDone, true);
  });

  it("sends the end without bytes even if there is no room", async () => {
    const { sender, pieces } = open();
    await sender.add(Buffer.alloc(WRITE_WINDOW), false);
    await sender.add(Buffer.alloc(0), true);
    assert.deepEqual(pieces.at(-1), [0, true]);
  });

  it("fails waiting and later writes, and sends nothing after the end", async () => {
    const { sender } = open();
    const waiting = sender.add(Buffer.alloc(2 * WRITE_WINDOW), false);
    sender.fail(new Error("broken"));
    sender.fail(new Error("later"));
    await assert.rejects(waiting, /broken/);
    await assert.rejects(sender.add(Buffer.alloc(1), false), /broken/);
    const ended = open().sender;
    await ended.add(Buffer.alloc(1), true);
    assert.throws(() => void ended.add(Buffer.alloc(1), false), /the end of the stream was sent/);
  });
});

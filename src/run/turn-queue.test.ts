import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Stopper } from "../base/stop.ts";
import { TurnQueue } from "./turn-queue.ts";

const LIMITS = { running: 2, runningEach: 2, waitingEach: 3 };

/** Takes a slot and notes in `log` when it has it, and each position before. */
function take(queue: TurnQueue, owner: string, log: string[], name: string, stop = new Stopper()) {
  const slot = queue.enter(owner, stop, (position) => log.push(`${name} at ${position}`));
  return slot.then((it) => {
    log.push(`${name} runs`);
    return it;
  });
}

describe("TurnQueue", () => {
  it("runs as many turns as there are slots, and the next when one is free", async () => {
    const queue = new TurnQueue(LIMITS);
    const log: string[] = [];
    const one = await take(queue, "a", log, "one");
    await take(queue, "a", log, "two");
    const three = take(queue, "a", log, "three");
    assert.deepEqual(queue.size, { running: 2, waiting: 1 });
    one[Symbol.dispose]();
    await three;
    assert.deepEqual(log, ["one runs", "two runs", "three at 1", "three runs"]);
  });

  it("alternates between principals, regardless of who asked first", async () => {
    const queue = new TurnQueue({ ...LIMITS, running: 1 });
    const log: string[] = [];
    const one = await take(queue, "greedy", log, "one");
    const two = take(queue, "greedy", log, "two");
    const three = take(queue, "greedy", log, "three");
    const other = take(queue, "modest", log, "other");
    assert.equal(log.at(-1), "other at 1");
    one[Symbol.dispose]();
    (await other)[Symbol.dispose]();
    (await two)[Symbol.dispose]();
    await three;
    const ran = log.filter((line) => line.endsWith("runs"));
    assert.deepEqual(ran, ["one runs", "other runs", "two runs", "three runs"]);
  });

  it("does not give one principal more than its share", async () => {
    const queue = new TurnQueue({ ...LIMITS, running: 3, runningEach: 1 });
    const log: string[] = [];
    await take(queue, "a", log, "one");
    void take(queue, "a", log, "two");
    await take(queue, "b", log, "three");
    assert.deepEqual(queue.size, { running: 2, waiting: 1 });
  });

  it("refuses a turn if too many of the same principal already wait", async () => {
    const queue = new TurnQueue({ running: 1, runningEach: 1, waitingEach: 1 });
    const log: string[] = [];
    await take(queue, "a", log, "one");
    void take(queue, "a", log, "two");
    await assert.rejects(take(queue, "a", log, "three"), /1 of your turns already wait/);
  });

  it("forgets a turn that is cancelled while it waits, and updates the others", async () => {
    const queue = new TurnQueue({ ...LIMITS, running: 1 });
    const log: string[] = [];
    await take(queue, "a", log, "one");
    const stop = new Stopper();
    const two = take(queue, "a", log, "two", stop);
    void take(queue, "a", log, "three");
    stop.stop(new Error("called off"));
    await assert.rejects(two, /called off/);
    assert.equal(log.at(-1), "three at 1");
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { setImmediate as turn } from "node:timers/promises";
import { Semaphore } from "./semaphore.ts";

const LIMITS = { running: 2, runningEach: 2, waitingEach: 3 };

/** Takes a slot and notes in `log` when it has it, and each position before. */
function take(
  queue: Semaphore,
  owner: string,
  log: string[],
  name: string,
  controller = new AbortController(),
) {
  const slot = queue.enter({
    key: owner,
    signal: controller.signal,
    moved: (position) => log.push(`${name} at ${position}`),
  });
  return slot.then((it) => {
    log.push(`${name} runs`);
    return it;
  });
}

describe("Semaphore", () => {
  it("runs as many entries as there are slots, and the next when one is free", async () => {
    const queue = new Semaphore(LIMITS);
    const log: string[] = [];
    const one = await take(queue, "a", log, "one");
    await take(queue, "a", log, "two");
    const three = take(queue, "a", log, "three");
    assert.deepEqual([queue.running, queue.waiting], [2, 1]);
    one[Symbol.dispose]();
    await three;
    assert.deepEqual(log, ["one runs", "two runs", "three at 1", "three runs"]);
  });

  it("alternates between keys, regardless of who asked first", async () => {
    const queue = new Semaphore({ ...LIMITS, running: 1 });
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

  it("does not give one key more than its share", async () => {
    const queue = new Semaphore({ ...LIMITS, running: 3, runningEach: 1 });
    const log: string[] = [];
    await take(queue, "a", log, "one");
    void take(queue, "a", log, "two");
    await take(queue, "b", log, "three");
    assert.deepEqual([queue.running, queue.waiting], [2, 1]);
  });

  it("refuses an entry if too many of the same key already wait", async () => {
    const queue = new Semaphore({
      ...{ running: 1, runningEach: 1, waitingEach: 1 },
      refusal: (waiting) => `${waiting} already wait`,
    });
    const log: string[] = [];
    await take(queue, "a", log, "one");
    void take(queue, "a", log, "two");
    await assert.rejects(take(queue, "a", log, "three"), {
      code: "limit",
      message: "1 already wait",
    });
  });

  it("forgets an entry that is cancelled while it waits, and updates the others", async () => {
    const queue = new Semaphore({ ...LIMITS, running: 1 });
    const log: string[] = [];
    await take(queue, "a", log, "one");
    const controller = new AbortController();
    const two = take(queue, "a", log, "two", controller);
    void take(queue, "a", log, "three");
    controller.abort(new Error("called off"));
    await assert.rejects(two, /called off/);
    assert.equal(log.at(-1), "three at 1");
  });

  it("lets nobody wait for what other keys have, and everybody for their own", async () => {
    const slots = new Semaphore({ runningEach: 1, waitingEach: 1 });
    const first = await slots.enter({ key: "a" });
    assert.deepEqual([slots.isFree("a"), slots.isFree("b")], [false, true]);
    let isIn = false;
    const second = slots.enter({ key: "a" }).then((slot) => {
      isIn = true;
      return slot;
    });
    await assert.rejects(slots.enter({ key: "a" }), { code: "limit" });
    (await slots.enter({ key: "b" }))[Symbol.dispose]();
    assert.equal(isIn, false);
    first[Symbol.dispose]();
    // A slot is released once.
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    assert.equal(slots.running, 0);
  });

  it("gives a free slot to an entry of a key that must not wait", async () => {
    const slots = new Semaphore({ runningEach: 1, waitingEach: 0 });
    const slot = await slots.enter();
    await assert.rejects(slots.enter(), { code: "limit" });
    slot[Symbol.dispose]();
    await slots.enter();
  });

  it("does not take a slot from an entry that has it, when its signal is aborted", async () => {
    const slots = new Semaphore({ running: 1 });
    const first = await slots.enter();
    const controller = new AbortController();
    const second = slots.enter({ signal: controller.signal });
    first[Symbol.dispose]();
    controller.abort(new Error("too late"));
    await second;
    assert.equal(slots.running, 1);
  });

  it("begins the next work when one is done, has failed, or takes long", async () => {
    const slots = new Semaphore({ running: 1 });
    const begun: string[] = [];
    const held = Promise.withResolvers<string>();
    const work = (name: string, result: () => Promise<string>) => () => {
      begun.push(name);
      return result();
    };
    const slow = slots.run(
      work("slow", () => held.promise),
      { longest: 1 },
    );
    const failing = slots.run(work("failing", async () => Promise.reject(new Error("failed"))));
    const last = slots.run(work("last", async () => "done"));
    await assert.rejects(failing, /failed/);
    assert.equal(await last, "done");
    assert.deepEqual(begun, ["slow", "failing", "last"]);
    held.resolve("at last");
    assert.equal(await slow, "at last");
    await turn();
    assert.equal(slots.running, 0);
  });
});

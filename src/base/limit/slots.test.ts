import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Slots } from "./slots.ts";
import { Stopper } from "../stop.ts";

describe("Slots", () => {
  it("gives a slot at once if one is free, and otherwise in order", async () => {
    const slots = new Slots(2);
    assert.deepEqual([slots.take(), slots.take()], [undefined, undefined]);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      await slots.take();
      order.push(number);
    });
    assert.deepEqual([slots.taken, slots.waiting], [2, 3]);
    for (let count = 0; count < 3; count++) slots.leave();
    await Promise.all(waiting);
    assert.deepEqual(order, [1, 2, 3]);
    assert.deepEqual([slots.taken, slots.waiting], [2, 0]);
    for (let count = 0; count < 2; count++) slots.leave();
    assert.equal(slots.taken, 0);
    assert.equal(slots.take(), undefined);
  });

  it("keeps no slot for a caller that no longer waits", async () => {
    const slots = new Slots(1);
    await slots.take();
    const stop = new Stopper();
    const given = slots.take(stop);
    const next = slots.take();
    stop.stop(new Error("never mind"));
    await assert.rejects(given ?? Promise.resolve(), /never mind/);
    slots.leave();
    await next;
    assert.deepEqual([slots.taken, slots.waiting], [1, 0]);
  });

  it("does not take a slot from a caller that has it", async () => {
    const slots = new Slots(1);
    await slots.take();
    const stop = new Stopper();
    const given = slots.take(stop);
    slots.leave();
    stop.stop(new Error("too late"));
    await given;
    assert.equal(slots.taken, 1);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Places } from "./places.ts";
import { Stopper } from "./stop.ts";

describe("Places", () => {
  it("gives a place at once where there is one, and else in the order of coming", async () => {
    const places = new Places(2);
    assert.deepEqual([places.take(), places.take()], [undefined, undefined]);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      await places.take();
      order.push(number);
    });
    assert.deepEqual([places.taken, places.waiting], [2, 3]);
    for (let count = 0; count < 3; count++) places.leave();
    await Promise.all(waiting);
    assert.deepEqual(order, [1, 2, 3]);
    assert.deepEqual([places.taken, places.waiting], [2, 0]);
    for (let count = 0; count < 2; count++) places.leave();
    assert.equal(places.taken, 0);
    assert.equal(places.take(), undefined);
  });

  it("keeps no place for whoever no longer waits", async () => {
    const places = new Places(1);
    await places.take();
    const stop = new Stopper();
    const given = places.take(stop);
    const next = places.take();
    stop.stop(new Error("never mind"));
    await assert.rejects(given ?? Promise.resolve(), /never mind/);
    places.leave();
    await next;
    assert.deepEqual([places.taken, places.waiting], [1, 0]);
  });

  it("does not take a place away from one who has it", async () => {
    const places = new Places(1);
    await places.take();
    const stop = new Stopper();
    const given = places.take(stop);
    places.leave();
    stop.stop(new Error("too late"));
    await given;
    assert.equal(places.taken, 1);
  });
});

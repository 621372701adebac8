import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Throttle } from "./throttle.ts";

describe("Throttle", () => {
  it("lets a number of messages pass in a window, and later reports how many did not", () => {
    let now = 0;
    const left: number[] = [];
    const trickle = new Throttle(
      { limit: 2, windowMs: 10 },
      (count) => left.push(count),
      () => now,
    );
    const take = (count: number): boolean[] => Array.from({ length: count }, () => trickle.take());
    assert.deepEqual(take(4), [true, true, false, false]);
    now = 9;
    assert.deepEqual(take(1), [false]);
    assert.deepEqual(left, []);
    now = 10;
    assert.deepEqual(take(1), [true]);
    assert.deepEqual(left, [3]);
    now = 20;
    assert.deepEqual(take(3), [true, true, false]);
    assert.deepEqual(left, [3]);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ByteBudget, FREE_BYTES, ByteReservation } from "./byte-budget.ts";

describe("ByteBudget", () => {
  it("refuses what exceeds the total, and lets small bodies pass", () => {
    const budget = new ByteBudget(1000);
    const [one, two] = [new ByteReservation(budget), new ByteReservation(budget)];
    assert.equal(one.set(FREE_BYTES + 800), true);
    assert.equal(two.set(FREE_BYTES + 300), false);
    assert.equal(two.set(FREE_BYTES), true);
    assert.equal(two.set(FREE_BYTES + 200), true);
    assert.equal(budget.used, 1000);
    assert.equal(one.set(FREE_BYTES + 801), false);
    // Refused, it holds what it held.
    assert.equal(budget.used, 1000);
    one.set(0);
    assert.equal(budget.used, 200);
    assert.equal(two.set(FREE_BYTES + 1000), true);
  });

  it("counts what it cannot refuse, and releases no more than was taken", () => {
    const budget = new ByteBudget(1000);
    const [own, other] = [new ByteReservation(budget), new ByteReservation(budget)];
    own.set(FREE_BYTES + 5000, true);
    assert.equal(other.set(FREE_BYTES + 1), false);
    own.set(0);
    own.set(0);
    other.set(0);
    assert.equal(budget.used, 0);
    assert.equal(other.set(FREE_BYTES + 1), true);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { amountText, budgetShares, NOTHING_USED, plus, usedUp } from "./budget.ts";

describe("usedUp()", () => {
  it("names the first amount of which all is used, and none that is not limited", () => {
    const used = { tokens: 100, cost: 2, steps: 3, time: 60 };
    assert.equal(usedUp({}, used), undefined);
    assert.equal(usedUp({ tokens: 101, steps: 4 }, used), undefined);
    assert.equal(usedUp({ tokens: 101, steps: 3 }, used), "steps");
    assert.equal(usedUp({ tokens: 100, steps: 3 }, used), "tokens");
  });
});

describe("plus()", () => {
  it("adds each amount", () => {
    const used = { tokens: 1, cost: 2, steps: 3, time: 4 };
    assert.deepEqual(plus(used, NOTHING_USED), used);
    assert.deepEqual(plus(used, used), { tokens: 2, cost: 4, steps: 6, time: 8 });
  });
});

describe("amountText()", () => {
  it("reads as a person would say it", () => {
    assert.equal(amountText("tokens", 1_234_567), "1,234,567 tokens");
    assert.equal(amountText("cost", 1.5), "$1.50");
    assert.equal(amountText("cost", 0.0123), "$0.0123");
    assert.equal(amountText("time", 90.4), "90 seconds");
    assert.equal(amountText("steps", 1), "1 step");
  });
});

describe("budgetShares()", () => {
  it("tells what was used, and the limits, also of what was not used yet", () => {
    const used = { tokens: 1_200, cost: 0, steps: 3, time: 0 };
    assert.deepEqual(budgetShares({ tokens: 5_000, time: 60 }, used), [
      "1,200 of 5,000 tokens",
      "3 steps",
      "0 of 60 seconds",
    ]);
    assert.deepEqual(budgetShares({}, NOTHING_USED), []);
  });
});

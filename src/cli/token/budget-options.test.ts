import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { budgetLimits, budgetText } from "./token.ts";

describe("budgetLimits()", () => {
  it("reads numbers and times as people write them", () => {
    const values = {
      "budget-tokens": "1.5M",
      "budget-cost": "$2.50",
      "budget-steps": "200k",
      "budget-time": "2h",
      concurrent: "3",
    };
    const budget = { tokens: 1_500_000, cost: 2.5, steps: 200_000, time: 7_200 };
    assert.deepEqual(budgetLimits(values), { budget, concurrent: 3 });
    assert.deepEqual(budgetLimits({ "budget-time": "90" }), { budget: { time: 90 } });
    assert.deepEqual(budgetLimits({}), {});
  });

  it("refuses what is no amount, and says what to write", () => {
    for (const wrong of ["0", "-1", "many", "", "1.0000001M", "1e9", "99999999999"]) {
      assert.throws(
        () => budgetLimits({ "budget-tokens": wrong }),
        /--budget-tokens: give a whole/,
      );
    }
    assert.throws(() => budgetLimits({ "budget-cost": "free" }), /US dollars/);
    assert.throws(() => budgetLimits({ "budget-cost": "0" }), /US dollars/);
    assert.throws(() => budgetLimits({ "budget-time": "1d" }), /such as 90s, 30m or 2h/);
    assert.throws(() => budgetLimits({ concurrent: "0.5" }), /--concurrent/);
  });
});

describe("budgetText()", () => {
  it("tells what a token may use", () => {
    const limits = { budget: { tokens: 2_000_000, cost: 5 }, concurrent: 3 };
    assert.deepEqual(budgetText(limits), ["2,000,000 tokens, $5.00 a day", "3 sessions at once"]);
    assert.deepEqual(budgetText({}), []);
  });
});

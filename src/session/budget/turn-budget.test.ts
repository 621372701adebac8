import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { NOTHING_USED } from "../../base/limit/budget.ts";
import {
  type Allowance,
  budgetReport,
  refuseSpent,
  spentBy,
  stopReasonFor,
  warningsFor,
} from "./turn-meter.ts";

const RESETS = "2026-03-02T00:00:00.000Z";

function allowance(change: Partial<Allowance>): Allowance {
  return {
    of: "session",
    budget: {},
    used: NOTHING_USED,
    remedy: (it) => `Raise ${it}.`,
    ...change,
  };
}

const used = (change: object) => ({ ...NOTHING_USED, ...change });

describe("refuseSpent()", () => {
  it("refuses a turn only if nothing is left, and names the budget", () => {
    const budget = { tokens: 10 };
    refuseSpent([allowance({ budget, used: used({ tokens: 9 }) })]);
    const spent = allowance({ of: "day", budget, used: used({ tokens: 10 }) });
    assert.throws(() => refuseSpent([allowance({ budget }), spent]), {
      code: "limit",
      message: "Cannot begin a turn: 10 of 10 tokens of today's budget are used. Raise tokens.",
    });
  });
});

describe("spentBy()", () => {
  it("adds what was used before the turn", () => {
    const allowances = [allowance({ budget: { cost: 1 }, used: used({ cost: 0.6 }) })];
    assert.equal(spentBy(allowances, used({ cost: 0.3 })), undefined);
    assert.equal(spentBy(allowances, used({ cost: 0.4 }))?.amount, "cost");
  });

  it("ends a turn at the step after the last allowed one, and reports only allowed steps", () => {
    const allowances = [allowance({ budget: { steps: 2 } })];
    assert.equal(spentBy(allowances, used({ steps: 2 })), undefined);
    assert.match(spentBy(allowances, used({ steps: 3 }))?.words ?? "", /^2 of 2 steps/);
  });
});

describe("warningsFor()", () => {
  const allowances = [
    allowance({ budget: { tokens: 100 } }),
    allowance({ of: "day", budget: { tokens: 1_000 }, used: used({ tokens: 750 }) }),
  ];

  it("warns when a turn passes four fifths of a budget, once", () => {
    assert.deepEqual(warningsFor(allowances, used({}), used({ tokens: 49 })), []);
    assert.deepEqual(warningsFor(allowances, used({ tokens: 49 }), used({ tokens: 50 })), [
      "800 of 1,000 tokens of today's budget are used.",
    ]);
    assert.deepEqual(warningsFor(allowances, used({ tokens: 50 }), used({ tokens: 60 })), []);
  });

  it("does not warn about an amount that is used up, which ends the turn", () => {
    assert.equal(warningsFor(allowances.slice(0, 1), used({}), used({ tokens: 100 })).length, 0);
  });
});

describe("budgetReport()", () => {
  it("reports each limited amount, and when the day ends", () => {
    const day = allowance({ of: "day", budget: { cost: 2 }, used: used({ cost: 0.1 }) });
    assert.deepEqual(budgetReport([day], used({ cost: 0.2, steps: 7 }), RESETS), {
      day: { cost: { used: 0.3, limit: 2 }, resets: RESETS },
    });
  });
});

describe("stopReasonFor()", () => {
  it("says that a limit ended the turn, never that somebody cancelled it", () => {
    assert.equal(stopReasonFor("tokens"), "max_tokens");
    for (const amount of ["steps", "cost", "time"] as const) {
      assert.equal(stopReasonFor(amount), "max_turn_requests");
    }
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Comparison, Plan, Sample } from "./bench.ts";
import { fillMeasured, limitsTable } from "./limits-table.ts";
import { reportOf } from "./report.ts";

function rowsOf(comparison: Omit<Comparison, "quantity">): string[] {
  const plan: Plan = {
    describe: "something",
    rounds: 2,
    quantities: [{ key: "time", label: "time", unit: "ms", digits: 1 }],
    variants: [],
    comparisons: [{ quantity: "time", ...comparison }],
  };
  const samples = new Map<string, Sample[]>([
    ["bare", [{ time: 1 }, { time: 1 }]],
    ["ours", [{ time: 3 }, { time: 3 }]],
  ]);
  return limitsTable([reportOf("bench", plan, samples)])
    .split("\n")
    .slice(2);
}

describe("limitsTable()", () => {
  it("shows a ratio that is limited, and whether it is kept", () => {
    const compared = { of: "ours", against: "bare", peers: "7" };
    assert.deepEqual(rowsOf({ row: "a call", ...compared, atMost: 6 }), [
      "| a call | 3.0 ms | 1.0 ms | 3.00 | ≤ 6 | ok | 7 |",
    ]);
    assert.match(rowsOf({ row: "a call", ...compared, atMost: 2 })[0] ?? "", /\*\*missed\*\*/);
  });

  it("shows a time that is limited beside its baseline", () => {
    assert.deepEqual(rowsOf({ row: "a list", of: "ours", beside: "bare", atMost: 2 }), [
      "| a list | 3.0 ms | 1.0 ms | 3.00 | ≤ 2 ms | **missed** |  |",
    ]);
  });

  it("leaves out figures that have no row", () => {
    assert.deepEqual(rowsOf({ of: "ours", against: "bare" }), []);
  });
});

describe("fillMeasured()", () => {
  it("replaces the table and nothing else, as often as one likes", () => {
    const document = "# One\n<!-- measured -->\nold\n<!-- /measured -->\n# Two\n";
    const filled = fillMeasured(document, "| new |");
    assert.equal(filled, "# One\n<!-- measured -->\n\n| new |\n\n<!-- /measured -->\n# Two\n");
    assert.equal(fillMeasured(filled, "| new |"), filled);
  });

  it("throws when the document has no place for it", () => {
    assert.throws(() => fillMeasured("# One\n", ""), /no place/);
  });
});

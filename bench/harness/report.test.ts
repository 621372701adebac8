import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Comparison, Plan, Sample } from "./bench.ts";
import { reportOf } from "./report.ts";
import { renderReport } from "./table.ts";

function figuresOf(comparison: Omit<Comparison, "quantity">, samples: Record<string, number[]>) {
  const plan: Plan = {
    describe: "something",
    rounds: 3,
    quantities: [{ key: "cpu", label: "CPU", unit: "µs", digits: 1 }],
    variants: [],
    comparisons: [{ quantity: "cpu", ...comparison }],
  };
  const measured = Object.entries(samples).map(([name, values]): [string, Sample[]] => [
    name,
    values.map((cpu) => ({ cpu })),
  ]);
  return reportOf("bench", plan, new Map(measured));
}

describe("reportOf()", () => {
  it("compares what was measured in the same round", () => {
    const samples = { bare: [1, 10, 2], ours: [2, 20, 6] };
    const { figures } = figuresOf({ of: "ours", against: "bare" }, samples);
    assert.deepEqual(figures[0]?.ratio, { median: 2, lowest: 2, highest: 3 });
  });

  it("calls a target missed when the median is over it", () => {
    const samples = { bare: [1, 1, 1], ours: [1, 4, 5] };
    const { figures } = figuresOf({ of: "ours", against: "bare", atMost: 3 }, samples);
    assert.equal(figures[0]?.isMet, false);
  });

  it("calls a target missed when the median is below what it must be at least", () => {
    const samples = { ours: [1, 1, 1], theirs: [9, 6, 6] };
    const { figures } = figuresOf({ of: "theirs", against: "ours", atLeast: 7 }, samples);
    assert.equal(figures[0]?.isMet, false);
  });

  it("calls a target missed when a quantity was not measured", () => {
    const { figures } = figuresOf(
      { of: "ours", against: "bare", atMost: 3 },
      { bare: [], ours: [] },
    );
    assert.equal(figures[0]?.isMet, false);
  });

  it("holds a quantity itself to a target where there is nothing to compare it with", () => {
    const report = figuresOf({ of: "ours", atMost: 4 }, { ours: [3, 5, 9] });
    assert.deepEqual(report.figures[0]?.ratio, { median: 5, lowest: 3, highest: 9 });
    assert.match(renderReport(report), /MISS  CPU: ours +5\.00 \(3\.00–9\.00\) µs  target ≤ 4/);
  });

  it("leaves out a comparison with a variant that was skipped", () => {
    const { figures } = figuresOf({ of: "ours", against: "theirs" }, { ours: [1] });
    assert.deepEqual(figures, []);
  });
});

describe("renderReport()", () => {
  it("shows the target beside the figure, and whether it is met", () => {
    const samples = { bare: [1, 1, 1], ours: [4, 4, 4] };
    const report = figuresOf({ of: "ours", against: "bare", atMost: 3 }, samples);
    assert.match(renderReport(report), /MISS +CPU: ours \/ bare +4\.00 × +target ≤ 3/);
  });
});

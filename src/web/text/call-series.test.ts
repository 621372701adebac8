import assert from "node:assert/strict";
import { test } from "node:test";

import { callSeries } from "./call-series.ts";

test("callSeries() adds the tools up, weighs their latency, and fills the gaps", () => {
  const rows = [
    { series: [[100, 2, 1, 10] as const, [102, 1, 0, 5] as const] },
    { series: [[100, 1, 0, 40] as const, [90, 9, 9, 9] as const] },
  ];
  assert.deepEqual(callSeries(rows, 102 * 60_000 + 5, 4), [
    [99 * 60, 100 * 60, 101 * 60, 102 * 60],
    [0, 3, 0, 1],
    [0, 1, 0, 0],
    [null, 20, null, 5],
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { callSeries, roundUp } from "./call-series.ts";

test("callSeries() adds the tools up, weighs their latency, and fills the gaps", () => {
  const rows = [
    { series: [[100, 2, 1, 10] as const, [102, 1, 0, 5] as const] },
    { series: [[100, 1, 0, 40] as const, [90, 9, 9, 9] as const] },
  ];
  assert.deepEqual(
    callSeries(rows, 102 * 60_000 + 5, 4).map(({ at, calls, errors, mean }) => [
      ...[at / 60_000, calls, errors, mean],
    ]),
    [
      [99, 0, 0, undefined],
      [100, 3, 1, 20],
      [101, 0, 0, undefined],
      [102, 1, 0, 5],
    ],
  );
});

test("roundUp() finds the end of an axis", () => {
  assert.deepEqual([0, 0.3, 1, 3, 7, 11, 450, 501].map(roundUp), [
    ...[1, 0.5, 1, 5, 10, 20, 500, 1000],
  ]);
});

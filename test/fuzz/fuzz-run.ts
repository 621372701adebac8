import type { TestContext } from "node:test";

import { SeededRandom } from "../support/seeded-random.ts";

const SEED = 20_260_728;

/** The chance of one test. What it was is told, so that a failure can be had again. */
export function seeded(t: TestContext, salt = 0): SeededRandom {
  const seed = Number(process.env["TRUNKLINE_FUZZ_SEED"] ?? SEED + salt);
  t.diagnostic(`TRUNKLINE_FUZZ_SEED=${seed} has it again`);
  return new SeededRandom(seed);
}

/** Milliseconds for so many lines or frames, on a machine that is busy. */
export function fuzzTimeout(count: number): number {
  return 300_000 + 10 * count;
}

/** How many lines or frames, where nobody wants another number. */
export function fuzzCount(usual: number): number {
  return Number(process.env["TRUNKLINE_FUZZ_COUNT"] ?? usual);
}

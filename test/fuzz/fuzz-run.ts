import type { TestContext } from "node:test";

import { SeededRandom } from "../support/seeded-random.ts";

const DAY = 24 * 60 * 60 * 1000;

/**
 * The chance of one test, another one each day: many short runs see more than one long run that is
 * repeated. What it was is told, so that a failure can be had again.
 */
export function seeded(t: TestContext, salt = 0): SeededRandom {
  const today = Math.floor(Date.now() / DAY);
  const seed = Number(process.env["TRUNKLINE_FUZZ_SEED"] ?? 1000 * today + salt);
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

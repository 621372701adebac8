import type { SeededRandom } from "./seeded-random.ts";

/**
 * Whether this is `npm run test:interop`, which has the time for all rounds. Beside its own tests it
 * runs each test file that imports this module (`scripts/test-files.mjs`).
 */
const IS_FULL_RUN = process.env["TRUNKLINE_TEST_FULL"] === "1";

/** How many rounds: a few in `npm test`, all of them in `npm run test:interop`. */
export function rounds({ few, all }: { readonly few: number; readonly all: number }): number {
  return IS_FULL_RUN ? all : few;
}

/**
 * Says of each place in a list whether it is tried: one in so many in `npm test`, by chance, and every
 * one in `npm run test:interop`.
 */
export function oneIn(part: number, random: SeededRandom): (place: number) => boolean {
  const first = random.below(part);
  return (place) => IS_FULL_RUN || place % part === first;
}

import assert from "node:assert/strict";
import { it } from "node:test";

import { killFour } from "../support/four/killing-four.ts";

/** Milliseconds within which somebody must have the session again when its holder was killed. */
const TAKEN_OVER_WITHIN = 2_000;
const KILLS = Number(process.env["TRUNKLINE_FOUR_KILLS"] ?? 100);
const SEED = Number(process.env["TRUNKLINE_FOUR_SEED"] ?? Date.now());

it(
  "editor, SDK client, terminal and dashboard in one session outlive a hundred kills",
  { timeout: 1_800_000 },
  async (test) => {
    test.diagnostic(`seed ${SEED}`);
    const { kills, takeovers, events } = await killFour(KILLS, SEED);
    const inOrder = takeovers.toSorted((a, b) => a - b).map(Math.round);
    const [median = 0, slowest = 0] = [inOrder[inOrder.length >> 1], inOrder.at(-1)];
    test.diagnostic(`killed: ${JSON.stringify(kills)}; ${events} events, each seen once by all`);
    test.diagnostic(`${takeovers.length} takeovers: p50 ${median} ms, max ${slowest} ms`);
    assert.ok(takeovers.length >= KILLS / 4, "the holder was among those that were killed");
    assert.ok(slowest < TAKEN_OVER_WITHIN, `a takeover took ${slowest} ms, seed ${SEED}`);
  },
);

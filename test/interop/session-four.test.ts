import assert from "node:assert/strict";
import { it } from "node:test";

import { killFour } from "../support/four/killing-four.ts";
import { expectQuick, sayTakeovers } from "../support/session-takeover.ts";

const KILLS = Number(process.env["TRUNKLINE_FOUR_KILLS"] ?? 100);
const SEED = Number(process.env["TRUNKLINE_FOUR_SEED"] ?? Date.now());

it("editor, SDK client, terminal and dashboard in one session outlive a hundred kills", async (test) => {
  test.diagnostic(`seed ${SEED}`);
  const { kills, takeovers, events } = await killFour(KILLS, SEED);
  test.diagnostic(`killed: ${JSON.stringify(kills)}; ${events} events, each seen once by all`);
  test.diagnostic(sayTakeovers(takeovers));
  assert.ok(takeovers.length >= KILLS / 4, "the holder was among those that were killed");
  expectQuick(takeovers, SEED);
});

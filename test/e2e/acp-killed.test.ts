import assert from "node:assert/strict";
import { it } from "node:test";

import { killAgainAndAgain } from "../support/acp-killing.ts";
import { rounds } from "../support/full-run.ts";

const KILLS = rounds({ few: 2, all: 200 });

it("everything that clients have seen is stored after SIGKILL at any moment", async (test) => {
  const seed = Date.now();
  test.diagnostic(`seed ${seed}`);
  const characters = await killAgainAndAgain(KILLS, seed);
  assert.ok(characters > 5 * KILLS, `only ${characters} characters were shown before the kills`);
});

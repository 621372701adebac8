import assert from "node:assert/strict";
import { it } from "node:test";

import { killAgainAndAgain } from "../support/acp-killing.ts";

it("two hundred SIGKILLs lose nothing that clients have seen", { timeout: 900_000 }, async () => {
  const characters = await killAgainAndAgain(200, Date.now());
  assert.ok(characters > 1000, `only ${characters} characters were shown before the kills`);
});

import assert from "node:assert/strict";
import { it } from "node:test";

import { killAgainAndAgain } from "../support/acp-killing.ts";

it(
  "everything that clients have seen is stored after SIGKILL at any moment",
  { timeout: 600_000 },
  async () => {
    const characters = await killAgainAndAgain(15, 7);
    assert.ok(characters > 100, `only ${characters} characters were shown before the kills`);
  },
);

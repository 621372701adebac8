import assert from "node:assert/strict";
import { it } from "node:test";

import { killMembers } from "../support/session-killing.ts";

it("a session outlives a hundred kills of its members", async (test) => {
  const { kills, holders, slowest } = await killMembers(100, Date.now());
  test.diagnostic(`${holders} of ${kills} had the session; slowest takeover ${slowest} ms`);
  assert.ok(holders > 10);
});

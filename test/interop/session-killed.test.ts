import assert from "node:assert/strict";
import { it } from "node:test";

import { killMembers } from "../support/session-killing.ts";
import { expectQuick, sayTakeovers } from "../support/session-takeover.ts";

it("a session outlives a hundred kills of its members", async (test) => {
  const seed = Date.now();
  const takeovers = await killMembers(100, seed);
  test.diagnostic(sayTakeovers(takeovers));
  assert.ok(takeovers.length > 10);
  expectQuick(takeovers, seed);
});

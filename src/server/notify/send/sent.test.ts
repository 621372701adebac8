import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sentBy } from "../notifier.ts";

describe("sentBy()", () => {
  it("tells what was accepted, what may be later, and what never will be", () => {
    const states = (...all: number[]): string[] =>
      all.map((status) => sentBy({ status, retryAfter: undefined }).state);
    assert.deepEqual(states(200, 201, 204), ["delivered", "delivered", "delivered"]);
    assert.deepEqual(states(408, 429, 500, 503), ["retry", "retry", "retry", "retry"]);
    assert.deepEqual(states(302, 400, 401, 413), ["failed", "failed", "failed", "failed"]);
    assert.equal(sentBy({ status: 429, retryAfter: 7_000 }).after, 7_000);
  });
});

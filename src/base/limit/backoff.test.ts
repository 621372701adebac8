import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Backoff } from "./backoff.ts";

const limits = { firstWait: 500, longestWait: 30_000, mostFailures: 9, rest: 30_000 };

describe("Backoff", () => {
  it("doubles the wait each time, up to the maximum", () => {
    const backoff = new Backoff(limits, () => 1);
    const waits = Array.from({ length: 8 }, () => backoff.failed());
    assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it("chooses half of the wait at random", () => {
    assert.equal(new Backoff(limits, () => 0).failed(), 250);
    assert.equal(new Backoff(limits, () => 0.5).failed(), 375);
  });

  it("opens after a number of failures in a row, and closes with one success", () => {
    const backoff = new Backoff({ ...limits, mostFailures: 5 }, () => 1);
    for (let failure = 1; failure <= 4; failure++) backoff.failed();
    assert.equal(backoff.isOpen, false);
    assert.equal(backoff.failed(), 30_000);
    assert.equal(backoff.isOpen, true);
    // The attempt after the rest decides: one failure is enough to rest again.
    assert.equal(backoff.failed(), 30_000);
    backoff.succeeded();
    assert.equal(backoff.isOpen, false);
    assert.equal(backoff.failed(), 500);
  });
});

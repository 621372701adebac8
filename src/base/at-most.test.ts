import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { atMost } from "./at-most.ts";

const never = new Promise<never>(() => {});

describe("atMost()", () => {
  it("settles as the promise does, if that is in time", async () => {
    assert.equal(await atMost(60_000, Promise.resolve(1)), 1);
    await assert.rejects(atMost(60_000, Promise.reject(new Error("no"))), /no/);
  });

  it("resolves to undefined, or rejects with a reason, when the time is up", async () => {
    assert.equal(await atMost(1, never), undefined);
    await assert.rejects(
      atMost(1, never, () => new Error("too late")),
      /too late/,
    );
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { evictedFor } from "./eviction.ts";

const kept = (owner: string, idle: number) => ({ owner, idle });

describe("evictedFor()", () => {
  it("finds what is idle longest of whoever has most", () => {
    const all = [kept("a", 9), kept("b", 3), kept("b", 5), kept("b", 4)];
    assert.deepEqual(evictedFor("c", all), kept("b", 5));
  });

  it("finds the newcomer's own where that is idle longer", () => {
    const all = [kept("a", 9), kept("b", 3), kept("b", 5), kept("c", 7)];
    assert.deepEqual(evictedFor("c", all), kept("c", 7));
  });

  it("never finds what is in use, nor what others have few of", () => {
    assert.equal(evictedFor("c", [kept("a", 9), kept("b", 0), kept("b", 0)]), undefined);
    assert.equal(evictedFor("a", []), undefined);
  });
});

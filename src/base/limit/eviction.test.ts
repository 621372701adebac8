import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { evictedFor } from "./eviction.ts";

const kept = (owner: string, idle: number) => ({ owner, idle });

describe("evictedFor()", () => {
  it("finds the longest idle entry of the owner with most entries", () => {
    const all = [kept("a", 9), kept("b", 3), kept("b", 5), kept("b", 4)];
    assert.deepEqual(evictedFor("c", all), kept("b", 5));
  });

  it("finds the newcomer's own entry if it has been idle longer", () => {
    const all = [kept("a", 9), kept("b", 3), kept("b", 5), kept("c", 7)];
    assert.deepEqual(evictedFor("c", all), kept("c", 7));
  });

  it("never finds entries in use, nor those of owners with few", () => {
    assert.equal(evictedFor("c", [kept("a", 9), kept("b", 0), kept("b", 0)]), undefined);
    assert.equal(evictedFor("a", []), undefined);
  });
});

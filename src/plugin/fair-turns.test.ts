import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FairTurns } from "./fair-turns.ts";

describe("FairTurns", () => {
  it("begins work at once, and some for everybody in each turn", async () => {
    const turns = new FairTurns();
    const begun: string[] = [];
    for (let number = 0; number < 100; number++) turns.begin("busy", () => begun.push("busy"));
    assert.equal(begun.length, 32);
    turns.begin("quiet", () => begun.push("quiet"));
    assert.equal(begun.at(-1), "quiet");
    await turn();
    turns.begin("quiet", () => begun.push("quiet"));
    assert.ok(begun.length <= 66, `${begun.length} were begun`);
    assert.equal(begun.at(-1), "quiet");
    while (begun.length < 102) await turn();
    assert.equal(begun.filter((name) => name === "busy").length, 100);
  });

  it("keeps the order of each guest's work", async () => {
    const turns = new FairTurns();
    const begun: number[] = [];
    for (let number = 0; number < 50; number++) turns.begin("a", () => begun.push(number));
    while (begun.length < 50) await turn();
    assert.deepEqual(
      begun,
      Array.from({ length: 50 }, (_, number) => number),
    );
  });

  it("begins no more work in this turn for a guest that has used its time", async () => {
    const turns = new FairTurns();
    const begun: number[] = [];
    const work = (number: number) => (): void => {
      const end = performance.now() + 5;
      while (performance.now() < end);
      begun.push(number);
    };
    turns.begin("slow", work(1));
    turns.begin("slow", work(2));
    assert.deepEqual(begun, [1]);
    while (begun.length < 2) await turn();
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { FairTurns } from "./fair-turns.ts";

/** So that the number of pieces alone decides, on a machine that stops this process in between too. */
const timeless = (): number => 0;

describe("FairTurns", () => {
  it("begins work at once, and some for everybody in each turn", async () => {
    const turns = new FairTurns(timeless);
    const [busy, quiet] = [{}, {}];
    const begun: string[] = [];
    for (let number = 0; number < 100; number++) turns.begin(busy, () => begun.push("busy"));
    assert.equal(begun.length, 32);
    turns.begin(quiet, () => begun.push("quiet"));
    assert.equal(begun.at(-1), "quiet");
    await turn();
    turns.begin(quiet, () => begun.push("quiet"));
    assert.ok(begun.length <= 66, `${begun.length} were begun`);
    assert.equal(begun.at(-1), "quiet");
    while (begun.length < 102) await turn();
    assert.equal(begun.filter((name) => name === "busy").length, 100);
  });

  it("keeps the order of each guest's work", async () => {
    const turns = new FairTurns(timeless);
    const guest = {};
    const begun: number[] = [];
    for (let number = 0; number < 50; number++) turns.begin(guest, () => begun.push(number));
    while (begun.length < 50) await turn();
    assert.deepEqual(
      begun,
      Array.from({ length: 50 }, (_, number) => number),
    );
  });

  it("begins no more work in this turn for a guest that has used its time", async () => {
    let time = 0;
    const turns = new FairTurns(() => time);
    const begun: number[] = [];
    const work = (number: number) => (): void => {
      time += 2;
      begun.push(number);
    };
    const slow = {};
    turns.begin(slow, work(1));
    turns.begin(slow, work(2));
    assert.deepEqual(begun, [1]);
    while (begun.length < 2) await turn();
  });

  it("begins work at once that comes one by one, however much it is", async () => {
    const turns = new FairTurns(timeless);
    const guest = {};
    let begun = 0;
    for (let number = 1; number <= 100; number++) {
      turns.begin(guest, () => begun++);
      assert.equal(begun, number);
      await turn();
    }
  });

  it("counts the last few pieces of work of earlier turns too, and no others", async () => {
    for (const [earlier, atOnce] of [
      [7, 25],
      [8, 32],
    ] as const) {
      const turns = new FairTurns(timeless);
      const guest = {};
      const begun: number[] = [];
      for (let number = 0; number < earlier; number++) turns.begin(guest, () => begun.push(number));
      await turn();
      for (let number = 0; number < 50; number++) turns.begin(guest, () => begun.push(number));
      assert.equal(begun.length, earlier + atOnce);
      while (begun.length < earlier + 50) await turn();
    }
  });
});

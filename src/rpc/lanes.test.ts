import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bytesInUse } from "../../test/fuzz/memory.ts";
import { SeededRandom } from "../../test/support/seeded-random.ts";
import { Lanes } from "./route.ts";

describe("Lanes", () => {
  it("runs work at once, in the caller's turn, if the lane is free", async () => {
    const lanes = new Lanes();
    assert.equal(
      lanes.enter("a", () => 1),
      1,
    );
    assert.equal(
      lanes.enter("a", () => 2),
      2,
    );
    await lanes.enter("a", async () => 3);
    await Promise.resolve();
    assert.equal(
      lanes.enter("a", () => 4),
      4,
    );
  });

  it("never runs two calls of one lane at once, and keeps their order", async () => {
    const random = new SeededRandom(0x1a9e);
    const lanes = new Lanes();
    const running = new Map<string, number>();
    const order = new Map<string, number[]>();
    const all = Array.from({ length: 500 }, async (_, index) => {
      const lane = random.pick(["a", "b", "c"]);
      const turns = random.below(4);
      await lanes.enter(lane, async () => {
        assert.equal(running.get(lane), undefined, `lane ${lane} is taken`);
        running.set(lane, index);
        order.set(lane, [...(order.get(lane) ?? []), index]);
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
        running.delete(lane);
        if (turns === 3) throw new Error("this one fails");
      });
    });
    await Promise.allSettled(all);
    for (const seen of order.values())
      assert.deepEqual(
        seen,
        seen.toSorted((a, b) => a - b),
      );
    assert.equal([...order.values()].flat().length, 500);
  });

  it("continues after work that throws, at once or later, and tells only its caller", async () => {
    const lanes = new Lanes();
    const fail = () => {
      throw new Error("no");
    };
    assert.throws(() => lanes.enter("a", fail), /no/);
    const first = lanes.enter("a", async () => fail());
    const second = lanes.enter("a", fail);
    const third = lanes.enter("a", () => 3);
    await assert.rejects(async () => first, /no/);
    await assert.rejects(async () => second, /no/);
    assert.equal(await third, 3);
  });

  it("forgets idle lanes", async () => {
    const lanes = new Lanes();
    const before = bytesInUse();
    for (let i = 0; i < 50_000; i++) await lanes.enter(`lane ${i}`, async () => {});
    assert.ok(bytesInUse() - before < 3_000_000);
  });
});

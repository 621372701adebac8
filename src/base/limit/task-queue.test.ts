import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bytesInUse } from "../../../test/fuzz/memory.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { TaskQueue } from "./task-queue.ts";

describe("TaskQueue", () => {
  it("runs work at once, in the caller's turn, if nothing of its key runs", async () => {
    const queue = new TaskQueue();
    const done: number[] = [];
    const first = queue.run(() => done.push(1), "a");
    assert.deepEqual(done, [1]);
    const second = queue.run(() => done.push(2), "a");
    assert.deepEqual(done, [1]);
    await queue.idle("a");
    assert.deepEqual(await Promise.all([first, second]), [1, 2]);
    void queue.run(() => done.push(3), "a");
    assert.deepEqual(done, [1, 2, 3]);
  });

  it("never runs two pieces of work of one key at once, and keeps their order", async () => {
    const random = new SeededRandom(0x1a9e);
    const queue = new TaskQueue();
    const running = new Map<string, number>();
    const order = new Map<string, number[]>();
    const all = Array.from({ length: 500 }, async (_, index) => {
      const lane = random.pick(["a", "b", "c"]);
      const turns = random.below(4);
      const work = async (): Promise<void> => {
        assert.equal(running.get(lane), undefined, `lane ${lane} is taken`);
        running.set(lane, index);
        order.set(lane, [...(order.get(lane) ?? []), index]);
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
        running.delete(lane);
        if (turns === 3) throw new Error("this one fails");
      };
      await queue.run(work, lane);
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
    const queue = new TaskQueue();
    const fail = () => {
      throw new Error("no");
    };
    const first = queue.run(async () => fail());
    const second = queue.run(fail);
    const third = queue.run(() => 3);
    await assert.rejects(first, /no/);
    await assert.rejects(second, /no/);
    assert.equal(await third, 3);
  });

  it("forgets idle keys", async () => {
    const queue = new TaskQueue();
    const before = bytesInUse();
    for (let i = 0; i < 50_000; i++) await queue.run(async () => {}, `key ${i}`);
    assert.ok(bytesInUse() - before < 3_000_000);
  });
});

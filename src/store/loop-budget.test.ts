import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LoopBudget } from "./loop-budget.ts";

/** Holds the thread for so many milliseconds. */
function hold(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe("LoopBudget", () => {
  it("runs work at once if there is time in this turn", async () => {
    const budget = new LoopBudget(Infinity);
    const done: number[] = [];
    const all = [1, 2, 3].map((each) => budget.run(() => done.push(each)));
    assert.deepEqual(done, [1, 2, 3]);
    assert.deepEqual(await Promise.all(all), [1, 2, 3]);
  });

  it("lets other work run, and continues in order", async () => {
    const budget = new LoopBudget(5);
    const done: string[] = [];
    const all: Promise<unknown>[] = [];
    for (let index = 0; index < 10; index++) {
      const work = (): void => {
        hold(5);
        done.push(String(index));
        // Comes after all who wait already.
        if (index === 1) all.push(budget.run(() => done.push("late")));
      };
      all.push(budget.run(work));
    }
    const other = new Promise<number>((resolve) => setImmediate(() => resolve(done.length)));
    assert.ok((await other) <= 2, "what came first has not waited for all of it");
    await Promise.all(all);
    await all.at(-1);
    assert.equal(all.length, 11);
    assert.deepEqual(done, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "late"]);
  });

  it("passes on errors of the work, at once or later", async () => {
    const budget = new LoopBudget(0.001);
    const fail = (message: string) => () => {
      hold(1);
      throw new Error(message);
    };
    await Promise.all([
      assert.rejects(budget.run(fail("first")), /first/),
      assert.rejects(budget.run(fail("second")), /second/),
      budget.run(() => "third").then((third) => assert.equal(third, "third")),
    ]);
  });

  it("keeps the process alive for waiting work only, once it is let go", async () => {
    const kept = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === "Immediate").length;
    const others = kept();
    const budget = new LoopBudget(0.001);
    void budget.run(() => hold(1));
    assert.equal(kept(), others + 1);
    budget.letGo();
    assert.equal(kept(), others);
    const waiting = budget.run(() => "done");
    assert.equal(kept(), others + 1);
    budget.letGo();
    assert.equal(kept(), others + 1);
    assert.equal(await waiting, "done");
  });
});

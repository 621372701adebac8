import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { giveBackMemory, MemoryReturn } from "./give-back-memory.ts";

const MiB = 1024 * 1024;

/** A process that has taken so much, of which connections hold a part. */
function sample(test: TestContext) {
  const state = { own: 100 * MiB, held: 0, free: 0, runs: 0 };
  const memory = new MemoryReturn({
    taken: () => state.own + state.held + state.free,
    giveBack: async () => {
      state.runs++;
      state.free = 0;
    },
  });
  test.mock.timers.enable({ apis: ["setTimeout"] });
  const pass = async (milliseconds: number): Promise<void> => {
    test.mock.timers.tick(milliseconds);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { state, memory, pass };
}

describe("MemoryReturn", () => {
  it("gives back what ended connections held, once for all of them", async (test) => {
    const { state, memory, pass } = sample(test);
    state.free = 200 * MiB;
    for (let count = 0; count < 1_000; count++) memory.connectionEnded();
    await pass(2_000);
    assert.deepEqual([state.runs, state.free], [1, 0]);
    memory.connectionEnded();
    await pass(2_000);
    assert.equal(state.runs, 1, "there is nothing more");
  });

  it("gives back after the last one, though others held theirs until then", async (test) => {
    const { state, memory, pass } = sample(test);
    state.held = 300 * MiB;
    memory.connectionEnded();
    await pass(2_000);
    state.free = state.held;
    state.held = 0;
    memory.connectionEnded();
    await pass(15_000);
    assert.deepEqual([state.runs, state.free], [2, 0]);
  });

  it("does so less often while that brings nothing", async (test) => {
    const { state, memory, pass } = sample(test);
    state.held = 300 * MiB;
    for (let second = 0; second < 120; second++) {
      memory.connectionEnded();
      await pass(1_000);
    }
    assert.ok(state.runs < 12, `${state.runs} runs in two minutes`);
  });
});

describe("giveBackMemory()", () => {
  it("has all buffers freed that nobody refers to", async () => {
    await giveBackMemory();
    const before = process.memoryUsage().arrayBuffers;
    let held: Buffer[] = Array.from({ length: 64 }, () => Buffer.alloc(MiB));
    assert.ok(process.memoryUsage().arrayBuffers >= before + held.length * MiB);
    held = [];
    await giveBackMemory();
    assert.ok(process.memoryUsage().arrayBuffers < before + 16 * MiB);
    assert.equal(held.length, 0);
  });
});

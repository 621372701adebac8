import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DAY, simulate } from "./simulate.ts";

const COSTS = { worker: 100, gateway: 50, nats: 20, memory: 100 };

describe("simulate", () => {
  it("gives the same for the same costs, and one worker and gateway to spare", () => {
    const fleet = simulate(1_000, COSTS);
    assert.deepEqual(simulate(1_000, COSTS), fleet);
    const used = (machines: number): number => (machines - 1) * DAY.cores * DAY.load * 1e6;
    assert.ok(fleet.updates * COSTS.worker <= used(fleet.workers));
    assert.ok(fleet.updates * COSTS.gateway <= used(fleet.gateways));
  });

  it("counts the busiest moment, which is nearer to the average where there are more sessions", () => {
    const above = (sessions: number): number =>
      simulate(sessions, COSTS).turns / (sessions * DAY.busy);
    assert.ok(above(100) > above(10_000));
    assert.ok(above(10_000) > 1);
  });

  it("counts workers by what is scarce: processors, or memory of agents", () => {
    const { workers, memory } = simulate(10_000, COSTS);
    assert.equal(workers, Math.ceil(memory / (DAY.machineMemory * DAY.load)) + 1);
    const dear = { ...COSTS, worker: 100 * COSTS.worker };
    const { workers: more } = simulate(10_000, dear);
    const { workers: twice } = simulate(10_000, { ...dear, worker: 2 * dear.worker });
    assert.ok(more > workers);
    assert.ok(Math.abs(2 * (more - 1) - (twice - 1)) <= 1);
  });
});

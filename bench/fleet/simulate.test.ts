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

  it("needs as many more workers as an update costs more", () => {
    const { workers } = simulate(10_000, COSTS);
    const { workers: twice } = simulate(10_000, { ...COSTS, worker: 2 * COSTS.worker });
    assert.ok(Math.abs(2 * (workers - 1) - (twice - 1)) <= 1);
  });
});

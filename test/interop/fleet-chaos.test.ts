import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { chaos } from "../support/chaos/chaos.ts";
import { noNats } from "../support/nats-server.ts";

const number = (name: string, usual: number): number => Number(process.env[name] ?? usual);
/** Milliseconds within which a session must accept requests again when its worker was lost. */
const TAKEN_OVER_WITHIN = 10_000;

describe("a fleet", { skip: noNats, timeout: 1_800_000 }, () => {
  it("shows every event once and in order while its processes are killed, paused and cut off", async (t) => {
    const options = {
      sessions: number("TRUNKLINE_CHAOS_SESSIONS", 200),
      seconds: number("TRUNKLINE_CHAOS_MINUTES", 5) * 60,
      seed: number("TRUNKLINE_CHAOS_SEED", Date.now() % 2 ** 31),
    };
    t.diagnostic(`TRUNKLINE_CHAOS_SEED=${options.seed}`);
    const { takeovers, overlapping, ...result } = await chaos({
      ...options,
      say: (words) => t.diagnostic(words),
    });
    const [median = 0, slowest = 0] = [takeovers[takeovers.length >> 1], takeovers.at(-1)];
    t.diagnostic(JSON.stringify(result));
    t.diagnostic(`${takeovers.length} takeovers: p50 ${median} ms, max ${slowest} ms`);
    t.diagnostic(`while other nodes failed too: ${overlapping.join(" ")}`);
    assert.ok(slowest < TAKEN_OVER_WITHIN, `a takeover took ${slowest} ms, seed ${options.seed}`);
  });
});

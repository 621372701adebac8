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
    const { takeovers, ...result } = await chaos({ ...options, say: (it) => t.diagnostic(it) });
    t.diagnostic(JSON.stringify(result));
    const times = (isCounted: boolean): number[] =>
      takeovers
        .filter(({ excuse }) => (excuse === undefined) === isCounted)
        .map(({ milliseconds }) => milliseconds)
        .toSorted((one, other) => one - other);
    const [counted, excused] = [times(true), times(false)];
    for (const [words, all] of [
      ["takeovers", counted],
      ["with further faults", excused],
    ] as const) {
      t.diagnostic(`${all.length} ${words}: p50 ${all[all.length >> 1]} ms, max ${all.at(-1)} ms`);
    }
    assert.ok(counted.length > 0, "no takeover was measured");
    const slow = takeovers.filter(
      ({ excuse, milliseconds }) => excuse === undefined && milliseconds > TAKEN_OVER_WITHIN,
    );
    const words = slow.map(
      ({ session, fault, milliseconds }) =>
        `${milliseconds} ms after ${fault.kind} ${fault.node.name}: ${session}`,
    );
    assert.deepEqual(words, [], `seed ${options.seed}`);
  });
});

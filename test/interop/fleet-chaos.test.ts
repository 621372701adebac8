import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { chaos } from "../support/chaos/chaos.ts";
import type { Takeover } from "../support/chaos/takeovers.ts";
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
    const { takeovers, claims, ...result } = await chaos({
      ...options,
      say: (it) => t.diagnostic(it),
    });
    t.diagnostic(JSON.stringify(result));
    const times = (isCounted: boolean, of: readonly Takeover[] = takeovers): number[] =>
      of
        .filter(({ excuse }) => (excuse === undefined) === isCounted)
        .map(({ milliseconds }) => milliseconds)
        .toSorted((one, other) => one - other);
    const [counted, excused] = [times(true), times(false)];
    for (const [words, all] of [
      ["takeovers", counted],
      ["with further faults", excused],
      ["sessions taken by another worker", times(true, claims)],
      ["sessions taken with further faults", times(false, claims)],
    ] as const) {
      const [p50, p90] = [0.5, 0.9].map((share) => all[Math.floor(all.length * share)]);
      t.diagnostic(`${all.length} ${words}: p50 ${p50} ms, p90 ${p90} ms, max ${all.at(-1)} ms`);
    }
    for (const claim of claims.filter(({ milliseconds }) => milliseconds > TAKEN_OVER_WITHIN)) {
      const { milliseconds, fault, session, excuse = "counts", timeline } = claim;
      const words = `${milliseconds} ms after ${fault.kind} ${fault.node.name}: ${session}`;
      t.diagnostic(`taken ${words} (${excuse}): ${timeline}`);
    }
    assert.ok(counted.length > 0, "no takeover was measured");
    // In a short run no question may be open when its worker is lost.
    const isWhole = options.sessions >= 200 && options.seconds >= 300;
    if (isWhole) assert.ok(result.permissions.askedAgain > 0, "no question was asked again");
    const slow = [...takeovers, ...claims].filter(
      ({ excuse, milliseconds }) => excuse === undefined && milliseconds > TAKEN_OVER_WITHIN,
    );
    const words = slow.map(
      ({ session, fault, milliseconds }) =>
        `${milliseconds} ms after ${fault.kind} ${fault.node.name}: ${session}`,
    );
    assert.deepEqual(words, [], `seed ${options.seed}`);
  });
});

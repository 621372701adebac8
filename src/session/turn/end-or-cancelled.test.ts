import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TurnEnd } from "../agent.ts";
import { endOrCancelled } from "./end-or-cancelled.ts";

const NEVER = Promise.withResolvers<TurnEnd>().promise;

describe("endOrCancelled()", () => {
  it("gives the end of the turn, also after the signal", async () => {
    const ending = Promise.resolve<TurnEnd>({ stopReason: "end_turn" });
    const { stopReason } = await endOrCancelled(ending, AbortSignal.abort(), 600_000);
    assert.equal(stopReason, "end_turn");
  });

  it("gives one of ours where the agent does not end it", async () => {
    const stop = new AbortController();
    const end = endOrCancelled(NEVER, stop.signal, 1);
    stop.abort();
    assert.deepEqual(await end, { stopReason: "cancelled" });
  });

  it("does not do so for a signal that does not count", async () => {
    const ending = Promise.withResolvers<TurnEnd>();
    const asked: AbortSignal[] = [];
    const signal = AbortSignal.abort();
    const end = endOrCancelled(ending.promise, signal, 0, (it) => asked.push(it) === 0);
    setTimeout(() => ending.resolve({ stopReason: "refusal" }), 20);
    assert.deepEqual(await end, { stopReason: "refusal" });
    assert.deepEqual(asked, [signal]);
  });
});

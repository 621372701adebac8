import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UsageCounter } from "./usage-counter.ts";

const call = (toolCallId: string) => ({ sessionUpdate: "tool_call", toolCallId });
const ended = (toolCallId: string, status = "completed") => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status,
});
const context = (used: unknown, more: object = {}) => ({
  sessionUpdate: "usage_update",
  used,
  size: 200_000,
  ...more,
});
const cost = (amount: unknown) => context(0, { cost: { amount, currency: "USD" } });

function usedAfter(updates: { sessionUpdate: string }[], reportedCost?: number) {
  const counter = new UsageCounter(reportedCost);
  for (const update of updates) counter.saw(update);
  return counter.used;
}

describe("UsageCounter", () => {
  it("counts a tool call once, however often it is reported", () => {
    const updates = [call("a"), call("a"), ended("a"), call("b"), ended("b", "failed")];
    assert.equal(usedAfter(updates).steps, 2);
  });

  it("counts the context once for each request, however often it is reported", () => {
    const first = [context(1_000), context(1_200)];
    assert.equal(usedAfter(first).tokens, 1_200);
    const second = [call("a"), context(1_250), ended("a"), context(1_500), context(1_600)];
    assert.equal(usedAfter([...first, ...second]).tokens, 1_250 + 1_600);
  });

  it("uses the reported tokens of the turn, and counts its requests as steps", () => {
    const request = (turnTokens: number) => context(50, { _meta: { trunkline: { turnTokens } } });
    const { tokens, steps } = usedAfter([request(100), call("a"), ended("a"), request(350)]);
    assert.deepEqual([tokens, steps], [350, 3]);
  });

  it("replaces its estimate by the tokens reported at the end of the turn", () => {
    for (const totalTokens of [10, 5_000]) {
      const counter = new UsageCounter();
      counter.saw(context(1_000));
      counter.ended({ totalTokens });
      assert.equal(counter.used.tokens, totalTokens);
    }
    const counter = new UsageCounter();
    counter.saw(context(1_000));
    counter.ended(undefined);
    assert.equal(counter.used.tokens, 1_000);
  });

  it("counts the growth of the session's cost, even if the agent restarts from zero", () => {
    assert.equal(usedAfter([cost(1), cost(1.5)]).cost, 1.5);
    assert.equal(usedAfter([cost(2), cost(2.25)], 1.75).cost, 0.5);
    assert.equal(usedAfter([cost(0.25)], 1.75).cost, 0.25);
  });

  it("ignores invalid numbers", () => {
    const odd = [
      context("many"),
      context(-5),
      context(NaN),
      cost(-1),
      cost("free"),
      cost(Infinity),
    ];
    assert.deepEqual(usedAfter(odd), { tokens: 0, cost: 0, steps: 0 });
  });
});

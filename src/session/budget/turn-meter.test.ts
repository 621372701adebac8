import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { type Amounts, type Budget, NOTHING_USED } from "../../base/limit/budget.ts";
import { TurnMeter, UsageCounter } from "./turn-meter.ts";

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

let now = 0;

/** A meter whose clock and timers a test controls. */
function meterOf(budget: Budget, noteEvery = 5_000, onWarning = () => {}) {
  const said: string[] = [];
  const notes: Amounts[] = [];
  const allowance = { of: "session" as const, budget, used: NOTHING_USED, remedy: () => "" };
  const meter = new TurnMeter({
    allowances: Object.keys(budget).length === 0 ? [] : [allowance],
    reportedCost: undefined,
    resets: "",
    note: async (used) => void notes.push(used),
    noteEvery,
  });
  const spent = ({ amount }: { amount: string }) => said.push(`spent ${amount}`);
  const warned = (words: string): void => {
    said.push(words);
    onWarning();
  };
  meter.begin({ spent, warned });
  return { meter, said, notes };
}

async function pass(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 50) {
    now += 50;
    mock.timers.tick(50);
    // After a record is stored, the next timer is set.
    await new Promise(setImmediate);
  }
}

describe("TurnMeter", () => {
  beforeEach(() => {
    now = 0;
    mock.timers.enable({ apis: ["setTimeout"] });
    mock.method(performance, "now", () => now);
  });
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });

  it("reports once that the time is nearly used up, and once that it is", async () => {
    const { said } = meterOf({ time: 10 });
    await pass(7_900);
    assert.deepEqual(said, []);
    await pass(200);
    assert.deepEqual(said, ["8 of 10 seconds of this session's budget are used."]);
    await pass(5_000);
    assert.deepEqual(said.slice(1), ["spent time"]);
  });

  it("reports at once that the time is used up if it was while a warning was given", async () => {
    const { said } = meterOf({ time: 10 }, 5_000, () => {
      now += 3_000;
    });
    await pass(8_100);
    assert.deepEqual(said.slice(1), ["spent time"]);
  });

  it("does not count while it is paused, even if paused twice", async () => {
    const { meter, said } = meterOf({ time: 1 });
    await pass(500);
    meter.pause();
    meter.pause();
    await pass(10_000);
    meter.resume();
    await pass(10_000);
    assert.deepEqual([said, meter.used.time], [[], 0.5]);
    meter.resume();
    await pass(600);
    assert.equal(said.at(-1), "spent time");
  });

  it("stores the use of a running turn at intervals, and at its end", async () => {
    const { meter, notes } = meterOf({}, 100);
    meter.saw({ sessionUpdate: "tool_call", toolCallId: "a" });
    await pass(100);
    assert.deepEqual(
      notes.map(({ steps }) => steps),
      [1],
    );
    meter.saw({ sessionUpdate: "tool_call", toolCallId: "b" });
    assert.equal(await meter.end({ totalTokens: 7 }), undefined);
    assert.deepEqual([notes.at(-1)?.steps, notes.at(-1)?.tokens], [2, 7]);
    await pass(1_000);
    assert.equal(notes.length, 2);
  });

  it("asks for no more of a shared budget that is used up while it asks", async () => {
    const left = { tokens: Infinity, cost: Infinity, steps: 1, time: Infinity };
    const share = { left, why: "" };
    const allowance = { of: "session" as const, budget: { steps: 2 }, used: NOTHING_USED, share };
    const said: string[] = [];
    let asked = 0;
    const meter = new TurnMeter({
      allowances: [{ ...allowance, remedy: () => "" }],
      ...{ reportedCost: undefined, resets: "", noteEvery: 5_000 },
      note: async () => {
        if (++asked > 100) throw new Error("it asks without an end");
        await new Promise(setImmediate);
      },
    });
    meter.begin({ spent: ({ amount }) => said.push(amount), warned: () => {} });
    for (const id of ["a", "b", "c"]) meter.saw(call(id));
    await pass(500);
    assert.deepEqual([said, asked], [["steps"], 1]);
    await meter.end(undefined);
  });

  it("reports nothing after the turn has ended", async () => {
    const { meter, said } = meterOf({ steps: 1, time: 1 });
    meter.pause();
    await meter.end(undefined);
    meter.resume();
    meter.saw({ sessionUpdate: "tool_call", toolCallId: "a" });
    meter.saw({ sessionUpdate: "tool_call", toolCallId: "b" });
    await pass(5_000);
    assert.deepEqual(said, []);
  });
});

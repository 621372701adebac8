import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../../../base/abort.ts";
import { RunningCalls } from "./running-calls.ts";

describe("RunningCalls", { timeout: 30_000 }, () => {
  it("aborts work when its caller has disconnected, and nobody else's", async () => {
    const calls = new RunningCalls();
    const caller = new AbortController();
    const stopped: string[] = [];
    const work = (name: string) => (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        onAbort(signal, ({ message }) => resolve(void stopped.push(`${name}: ${message}`)));
      });
    const first = calls.run({ signal: caller.signal }, work("first"));
    const second = calls.run({}, work("second"));
    caller.abort(new Error("gone"));
    await first;
    assert.deepEqual(stopped, ["first: gone"]);
    calls.stopAll(new Error("end"));
    await second;
    assert.deepEqual(stopped, ["first: gone", "second: end"]);
  });

  it("aborts work that begins after the end", async () => {
    const calls = new RunningCalls();
    calls.stopAll(new Error("end"));
    const reason = await calls.run({}, async (signal) => signal.reason?.message);
    assert.equal(reason, "end");
  });

  it("has the result of work that is done at once, or its failure, and is idle then", async () => {
    const calls = new RunningCalls();
    const caller = new AbortController();
    let stops = 0;
    const work = (signal: AbortSignal) => {
      onAbort(signal, () => stops++);
      return "done";
    };
    assert.equal(await calls.run({ signal: caller.signal }, work), "done");
    const fail = () => {
      throw new Error("failed");
    };
    await assert.rejects(calls.run({ signal: caller.signal }, fail), /failed/);
    await calls.idle(600_000);
    caller.abort(new Error("gone"));
    calls.stopAll(new Error("end"));
    assert.equal(stops, 0);
  });

  it("is idle once all work has ended, also by failing, or after a time", async () => {
    const calls = new RunningCalls();
    await calls.idle(600_000);
    const work = Promise.withResolvers<void>();
    const run = calls.run({}, () => work.promise);
    await calls.idle(1);
    const idle = calls.idle(600_000);
    work.reject(new Error("failed"));
    await assert.rejects(run, /failed/);
    await idle;
  });
});

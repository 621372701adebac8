import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Deadlines } from "./deadlines.ts";

/** Starts a deadline that writes its name when it expires, and waits for the last of them. */
function names(deadlines: Deadlines) {
  const expired: string[] = [];
  const last = Promise.withResolvers<void>();
  const start = (name: string, milliseconds: number) =>
    deadlines.start(milliseconds, () => {
      expired.push(name);
      if (name === "last") last.resolve();
    });
  return { expired, start, last: last.promise };
}

// The waiting alone would not keep the process alive: no deadline does.
describe("Deadlines", { timeout: 60_000 }, () => {
  const alive = (wait: Promise<unknown>) => {
    const timer = setInterval(() => {}, 1000);
    return wait.finally(() => clearInterval(timer));
  };

  it("expire in the order of their times, not of their starts", async () => {
    const { expired, start, last } = names(new Deadlines());
    start("last", 60);
    start("first", 1);
    start("second", 30);
    await alive(last);
    assert.deepEqual(expired, ["first", "second", "last"]);
  });

  it("do not expire once they are stopped, and start again when restarted", async () => {
    const deadlines = new Deadlines();
    const { expired, start, last } = names(deadlines);
    const stopped = start("stopped", 5);
    const restarted = start("restarted", 5);
    deadlines.stop(stopped);
    deadlines.restart(restarted, 40);
    start("before", 20);
    start("last", 80);
    await alive(last);
    assert.deepEqual(expired, ["before", "restarted", "last"]);
  });

  it("do not expire when another, due at the same time, stops or restarts them", async () => {
    const deadlines = new Deadlines();
    const { expired, start, last } = names(deadlines);
    deadlines.start(5, () => {
      deadlines.stop(stopped);
      deadlines.restart(restarted, 30);
      start("last", 60);
    });
    const stopped = start("stopped", 5);
    const restarted = start("restarted", 5);
    start("before", 20);
    await alive(last);
    assert.deepEqual(expired, ["before", "restarted", "last"]);
  });

  it("do not expire when one of them clears them all, and can be used afterwards", async () => {
    const deadlines = new Deadlines();
    const { expired, start, last } = names(deadlines);
    deadlines.start(5, () => {
      deadlines.clear();
      start("last", 20);
    });
    start("cleared at once", 5);
    start("cleared", 10);
    await alive(last);
    assert.deepEqual(expired, ["last"]);
  });

  it("may be further away than a timer can be set", async () => {
    const deadlines = new Deadlines();
    const { expired, start, last } = names(deadlines);
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    start("in a month", 2 ** 31 + 1000);
    start("never", Infinity);
    setTimeout(() => start("last", 5), 20);
    await alive(last);
    process.off("warning", listen);
    assert.deepEqual(expired, ["last"]);
    assert.deepEqual(warnings, []);
    deadlines.clear();
  });

  it("do not keep the process alive", () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout");
    const before = timers();
    const deadlines = new Deadlines();
    deadlines.start(10_000, () => {});
    assert.deepEqual(timers(), before);
    deadlines.clear();
  });

  it("share one timer", (t) => {
    const set = t.mock.method(globalThis, "setTimeout");
    const deadlines = new Deadlines();
    for (let i = 0; i < 1000; i++) deadlines.stop(deadlines.start(60_000 + i, () => {}));
    assert.equal(set.mock.callCount(), 1);
    deadlines.clear();
  });
});

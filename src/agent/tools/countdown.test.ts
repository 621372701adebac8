import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { Countdown } from "./countdown.ts";

/** A clock that only the test moves. */
function clock() {
  let time = 0;
  mock.timers.enable({ apis: ["setTimeout"] });
  const now = mock.method(performance, "now", () => time);
  return {
    pass(milliseconds: number) {
      time += milliseconds;
      mock.timers.tick(milliseconds);
    },
    [Symbol.dispose]() {
      mock.timers.reset();
      now.mock.restore();
    },
  };
}

describe("Countdown", () => {
  it("pauses while a person is asked, however often and however nested", async () => {
    using time = clock();
    let isOver = false;
    using countdown = new Countdown(100, () => (isOver = true));
    time.pass(60);
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const pauses = [
      countdown.pausedWhile(() => first.promise),
      countdown.pausedWhile(() => second.promise),
    ];
    time.pass(1_000);
    first.resolve();
    await pauses[0];
    time.pass(1_000);
    second.resolve();
    await pauses[1];
    time.pass(39);
    assert.equal(isOver, false);
    time.pass(1);
    assert.equal(isOver, true);
  });

  it("continues after a question that failed", async () => {
    using time = clock();
    let isOver = false;
    using countdown = new Countdown(100, () => (isOver = true));
    await assert.rejects(countdown.pausedWhile(() => Promise.reject(new Error("no"))));
    time.pass(100);
    assert.equal(isOver, true);
  });

  it("never ends after it was disposed, not even by a question that is answered later", async () => {
    using time = clock();
    const answer = Promise.withResolvers<void>();
    let isOver = false;
    let paused: Promise<void> | undefined;
    {
      using countdown = new Countdown(100, () => (isOver = true));
      paused = countdown.pausedWhile(() => answer.promise);
    }
    answer.resolve();
    await paused;
    time.pass(1_000);
    assert.equal(isOver, false);
  });
});

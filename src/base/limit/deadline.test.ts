import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Deadline } from "./deadline.ts";

describe("Deadline", () => {
  it("counts from its start, its last restart, or where it starts after a stop", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let expired = 0;
    const deadline = new Deadline(100, () => expired++);
    t.mock.timers.tick(99);
    deadline.restart();
    t.mock.timers.tick(99);
    deadline.stop();
    t.mock.timers.tick(1_000);
    deadline.restart();
    t.mock.timers.tick(1_000);
    assert.equal(expired, 0, "it was stopped");
    deadline.start();
    t.mock.timers.tick(100);
    assert.equal(expired, 1);
  });

  it("may be further away than a timer can be set", (t) => {
    const warn = t.mock.method(process, "emitWarning", () => {});
    const deadline = new Deadline(2 ** 40, () => assert.fail("it has expired"));
    assert.equal(warn.mock.callCount(), 0);
    deadline.stop();
  });
});

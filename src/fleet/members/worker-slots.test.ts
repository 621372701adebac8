import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { WorkerSlots } from "./job-server.ts";

describe("WorkerSlots", () => {
  it("promises no more slots than are free, and tells each change", () => {
    let changes = 0;
    using slots = new WorkerSlots({ slots: 2, changed: () => changes++ });
    const giveBack = slots.promise();
    assert.ok(slots.promise());
    assert.equal(slots.promise(), undefined);
    assert.deepEqual([slots.used, slots.free, slots.open, changes], [2, 0, 0, 2]);
    giveBack?.();
    giveBack?.();
    assert.deepEqual([slots.used, slots.free, changes], [1, 1, 3]);
  });

  it("lets a session take the place that was promised, or one more than there are", () => {
    using slots = new WorkerSlots({ slots: 1 });
    slots.promise();
    slots.opened();
    assert.deepEqual([slots.used, slots.free, slots.open], [1, 0, 1]);
    slots.opened();
    assert.deepEqual([slots.used, slots.free, slots.open], [2, 0, 2]);
    assert.equal(slots.promise(), undefined);
    slots.closed();
    slots.closed();
    assert.deepEqual([slots.used, slots.free, slots.open], [0, 1, 0]);
  });

  it("keeps one place for a session, however often it is asked for", () => {
    using slots = new WorkerSlots({ slots: 2 });
    assert.ok(slots.promise("s1"));
    assert.ok(slots.promise("s1"));
    assert.ok(slots.promise());
    assert.equal(slots.promise("s2"), undefined);
    assert.ok(slots.promise("s1"));
    slots.opened("s1");
    assert.deepEqual([slots.used, slots.open, slots.has("s1")], [2, 1, true]);
    assert.ok(slots.promise("s1"));
    assert.equal(slots.used, 2);
    slots.opened("s3");
    assert.deepEqual([slots.used, slots.open], [2, 2]);
    slots.closed("s1");
    assert.deepEqual([slots.used, slots.has("s1")], [1, false]);
    assert.ok(slots.promise("s2"));
    slots.failed("s2");
    assert.equal(slots.used, 1);
  });

  it("lets a promise lapse that no session follows", () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      using slots = new WorkerSlots({ slots: 1, kept: 100 });
      slots.promise();
      mock.timers.tick(99);
      assert.equal(slots.free, 0);
      mock.timers.tick(1);
      assert.equal(slots.free, 1);
      slots.promise();
      slots.opened();
      mock.timers.tick(100);
      assert.deepEqual([slots.used, slots.free], [1, 0]);
    } finally {
      mock.timers.reset();
    }
  });
});

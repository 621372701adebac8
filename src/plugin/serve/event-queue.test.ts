import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EventQueue } from "./events.ts";
import type { BusEvent } from "./events.ts";

function event(source: string, n: number, bytes = 10): BusEvent {
  return { topic: "t", type: "x", payload: { n }, source, time: new Date(0), bytes };
}

function all(queue: EventQueue): string[] {
  const found: string[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    found.push(`${next.source}${JSON.stringify(next.payload.n)}`);
  }
  return found;
}

describe("EventQueue", () => {
  it("returns events of each source in order, and the sources in turn", () => {
    const queue = new EventQueue();
    for (const n of [1, 2, 3]) queue.add(event("a", n));
    for (const n of [1, 2]) queue.add(event("b", n));
    assert.deepEqual(all(queue), ["a1", "b1", "a2", "b2", "a3"]);
    assert.equal(queue.next(), undefined);
  });

  it("drops the oldest events of a source that publishes without pause, and of no other", () => {
    const queue = new EventQueue();
    queue.add(event("quiet", 1));
    let dropped = 0;
    for (let n = 0; n < 5_000; n++) dropped += queue.add(event("loud", n));
    assert.equal(dropped, 4_000);
    const [first, second] = all(queue);
    assert.deepEqual([first, second], ["quiet1", "loud4000"]);
  });

  it("limits their bytes too, but always keeps the newest", () => {
    const queue = new EventQueue();
    const MiB = 1024 * 1024;
    assert.equal(queue.add(event("a", 1, 3 * MiB)), 0);
    assert.equal(queue.add(event("a", 2, 3 * MiB)), 1);
    assert.equal(queue.add(event("a", 3, 16 * MiB)), 1);
    assert.deepEqual(all(queue), ["a3"]);
    assert.equal(queue.add(event("a", 4, MiB)), 0);
  });
});

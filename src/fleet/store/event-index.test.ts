import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { MessageHead } from "../ownership/journal.ts";
import { EventIndex } from "./event-index.ts";

function head(sequence: number, first: number, last: number, more = false): MessageHead {
  return { id: "", epoch: 2, node: "n", sequence, first, last, size: 40_000, more };
}

describe("the index of a session's events", () => {
  it("finds the messages from an event on, and those before one", () => {
    const index = new EventIndex(1);
    for (let at = 1; at <= 10; at++) index.add(head(at * 10, at * 2 - 1, at * 2));
    assert.deepEqual(index.after(1), { from: 10, to: 100 });
    assert.deepEqual(index.after(8), { from: 40, to: 100 });
    assert.equal(index.after(21), undefined);
    assert.deepEqual(index.before(21, 3, Infinity), { from: 90, to: 100 });
    assert.deepEqual(index.before(8, 2, Infinity), { from: 30, to: 40 });
    assert.deepEqual(index.before(21, 1000, 100_000), { from: 80, to: 100 });
    assert.deepEqual(index.before(3, 1000, Infinity), { from: 10, to: 10 });
  });

  it("begins with the first part of a large event", () => {
    const index = new EventIndex(1);
    index.add(head(1, 1, 1));
    index.add(head(2, 2, 1, true));
    index.add(head(3, 2, 1, true));
    index.add(head(4, 2, 2));
    index.add(head(5, 3, 3));
    assert.deepEqual(index.after(2), { from: 2, to: 5 });
    assert.deepEqual(index.before(3, 1, Infinity), { from: 2, to: 4 });
  });

  it("puts small messages together, and ignores known ones and those of a deleted session", () => {
    const index = new EventIndex(2);
    index.add({ ...head(1, 1, 9), epoch: 1 });
    for (const at of [2, 3, 4, 3]) index.add({ ...head(at, at - 1, at - 1), size: 100 });
    assert.deepEqual(index.after(3), { from: 2, to: 4 });
    assert.equal(index.after(4), undefined);
  });
});

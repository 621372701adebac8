import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EventLog, parseEventId } from "./event-log.ts";

const LIMITS = { maxLoggedEvents: 3, maxLoggedBytes: 1000 };

describe("EventLog", () => {
  it("returns the events after one of the same stream, and none of another", () => {
    const log = new EventLog<{ id: number }>(LIMITS);
    const [one, two] = [{ id: 1 }, { id: 2 }];
    log.add(one, "a");
    log.add(two, "b");
    assert.equal(log.add(one, "c"), "event: message\nid: 1-3\ndata: c\n\n");
    assert.deepEqual(log.after(one, 1), ["event: message\nid: 1-3\ndata: c\n\n"]);
    assert.equal(log.after(one, 0).length, 2);
    assert.deepEqual(log.after(one, 3), []);
    assert.equal(log.streamOf(2), two);
    assert.equal(log.streamOf(3), undefined);
  });

  it("forgets the oldest if there are too many", () => {
    const log = new EventLog<{ id: number }>(LIMITS);
    const [one, two] = [{ id: 1 }, { id: 2 }];
    log.add(one, "first");
    for (let i = 0; i < 3; i++) log.add(two, String(i));
    assert.deepEqual(log.after(one, 0), []);
    assert.equal(log.streamOf(1), undefined);
    assert.equal(log.after(two, 0).length, 3);
    assert.equal(log.last, 4);
  });

  it("forgets the oldest if they are too large, even the newest", () => {
    const log = new EventLog<{ id: number }>(LIMITS);
    const one = { id: 1 };
    log.add(one, "x".repeat(600));
    log.add(one, "y".repeat(600));
    assert.match(log.after(one, 0).join(""), /^[^x]*y{600}\n\n$/);
    log.add(one, "z".repeat(2000));
    assert.deepEqual(log.after(one, 0), []);
  });
});

describe("parseEventId()", () => {
  it("reads what the log writes, and nothing else", () => {
    assert.deepEqual(parseEventId("12-345"), { stream: 12, number: 345 });
    for (const id of ["", "1", "1-", "-1", "a-1", "1-1-1", " 1-1", `1-${"9".repeat(20)}`]) {
      assert.equal(parseEventId(id), undefined, id);
    }
  });
});

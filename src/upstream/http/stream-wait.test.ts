import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { streamStatus, StreamWaits, waitBefore } from "./stream-wait.ts";

describe("waitBefore()", () => {
  const waits = (asked?: number): number[] =>
    [1, 2, 3, 20].map((attempt) => waitBefore(attempt, asked));

  it("is longer each time that nothing came, up to half a minute", () => {
    assert.deepEqual(waits(), [500, 1_000, 2_000, 30_000]);
  });

  it("is what the server wants at least", () => {
    assert.deepEqual(waits(200), [200, 400, 800, 30_000]);
    assert.deepEqual(waits(600_000), [600_000, 600_000, 600_000, 600_000]);
  });

  it("is never nothing, whatever the server wants", () => {
    assert.deepEqual(waits(0), [100, 200, 400, 30_000]);
  });
});

describe("StreamWaits", () => {
  it("grow while the stream fails at once, and begin anew after it was open for long or brought something", () => {
    let now = 0;
    const waits = new StreamWaits(() => now);
    const after = (milliseconds: number): number => {
      waits.opened();
      now += milliseconds;
      return waits.ended(undefined);
    };
    assert.deepEqual([after(5), after(5), after(5)], [500, 1_000, 2_000]);
    assert.deepEqual([after(60_000), after(60_000)], [500, 500]);
    assert.deepEqual([after(5), after(5)], [1_000, 2_000]);
    waits.came();
    assert.equal(after(5), 500);
  });
});

describe("streamStatus()", () => {
  for (const [status, type, expected] of [
    [200, "text/event-stream; charset=utf-8", 200],
    [200, "text/html", 405],
    [204, undefined, 405],
    [503, "text/html", 503],
  ] as const) {
    it(`is ${expected} for an answer of ${status} with ${type ?? "nothing"}`, () => {
      const headers = type === undefined ? {} : { "content-type": type };
      assert.equal(streamStatus({ statusCode: status, headers }), expected);
    });
  }
});

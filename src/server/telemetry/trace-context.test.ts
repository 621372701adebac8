import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readParent, readTraceParent } from "./open-telemetry.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("readTraceParent()", () => {
  it("reads the ids, and whether the trace is recorded", () => {
    const ids = { traceId: TRACE, spanId: SPAN };
    assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-01`), { ...ids, isSampled: true });
    assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-02`), { ...ids, isSampled: false });
    assert.deepEqual(readTraceParent(`cc-${TRACE}-${SPAN}-01-new`), { ...ids, isSampled: true });
  });

  it("reads nothing that the specification does not allow", () => {
    for (const text of [
      undefined,
      7,
      "",
      `ff-${TRACE}-${SPAN}-01`,
      `00-${TRACE}-${SPAN}-01-new`,
      `00-${"0".repeat(32)}-${SPAN}-01`,
      `00-${TRACE}-${"0".repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${SPAN}-01`,
      `00-${TRACE}-${SPAN}`,
    ]) {
      assert.equal(readTraceParent(text), undefined, String(text));
    }
  });
});

describe("readParent()", () => {
  it("has the state and the baggage along, where they can be passed on", () => {
    const traceparent = `00-${TRACE}-${SPAN}-01`;
    const parent = readParent({ traceparent, tracestate: "a=1", baggage: "user=ann" });
    assert.deepEqual([parent?.traceState, parent?.baggage], ["a=1", "user=ann"]);
    const odd = readParent({ traceparent, tracestate: "a\nb", baggage: "x".repeat(9_000) });
    assert.deepEqual([odd?.traceState, odd?.baggage], [undefined, undefined]);
    assert.equal(readParent({ tracestate: "a=1" }), undefined);
  });
});

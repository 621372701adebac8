import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { EndedSpan } from "./otlp-json.ts";
import { type Tracer, tracerOf } from "./open-telemetry.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const OTHER = "00f067aa0ba902b7";

class Sample {
  readonly ended: EndedSpan[] = [];
  readonly tracer: Tracer;

  constructor(sample = 1) {
    this.tracer = tracerOf({ sample, add: (span) => this.ended.push(span) });
  }

  begin(meta: Record<string, unknown> = {}, header?: string) {
    return this.tracer.begin({ name: "tools/call echo", attributes: {}, meta, header });
  }
}

describe("tracerOf()", () => {
  it("takes the parent from `_meta`, and the HTTP header as a link", () => {
    const sample = new Sample();
    const meta = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1", baggage: "b=2" };
    const span = sample.begin(meta, `00-${TRACE}-${OTHER}-01`);
    const hop = span?.hop("tools/call there", { "trunkline.server": "s" });
    assert.match(hop?.carrier.traceparent ?? "", new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    assert.deepEqual([hop?.carrier.tracestate, hop?.carrier.baggage], ["a=1", "b=2"]);
    hop?.end();
    span?.end();
    const [child, parent] = sample.ended;
    assert.deepEqual(
      [parent?.traceId, parent?.parentSpanId, parent?.kind],
      [TRACE, SPAN, "server"],
    );
    assert.deepEqual(parent?.links, [{ traceId: TRACE, spanId: OTHER }]);
    assert.deepEqual(
      [child?.traceId, child?.parentSpanId, child?.kind, child?.traceState],
      [TRACE, parent?.spanId, "client", "a=1"],
    );
    assert.ok(hop?.carrier.traceparent.includes(child?.spanId ?? "none"));
  });

  it("begins a trace where the caller has none, for the share that is wanted", () => {
    const all = new Sample();
    all.begin()?.end();
    all.begin({ traceparent: "nonsense" })?.end();
    assert.equal(all.ended.length, 2);
    assert.notEqual(all.ended[0]?.traceId, all.ended[1]?.traceId);
    assert.equal(all.ended[0]?.parentSpanId, undefined);
    assert.equal(new Sample(0).begin(), undefined);
  });

  it("lets the caller decide about a trace that it has begun", () => {
    assert.equal(new Sample(1).begin({ traceparent: `00-${TRACE}-${SPAN}-00` }), undefined);
    assert.ok(new Sample(0).begin({ traceparent: `00-${TRACE}-${SPAN}-01` }));
  });

  it("masks secrets in what it sends, and sends a span once", () => {
    const sample = new Sample();
    const span = sample.begin();
    span?.end({ error: "tool_error", says: "Bearer abcdefgh12345678", attributes: { a: 1 } });
    span?.end();
    assert.equal(sample.ended.length, 1);
    assert.equal(sample.ended[0]?.failure, "Bearer •••");
    assert.deepEqual(sample.ended[0]?.attributes, { a: 1, "error.type": "tool_error" });
  });

  it("sends no half of a code point: a collector would refuse the whole batch for it", () => {
    const sample = new Sample();
    const client = `\u{1f600}\ud800 ${"\u{1f600}".repeat(3_000)}`;
    sample.begin()?.end({ error: "tool_error", says: "\udfff", attributes: { client } });
    const [span] = sample.ended;
    const sent = String(span?.attributes.client);
    assert.ok(sent.startsWith("\u{1f600}\ufffd ") && sent.isWellFormed());
    assert.equal(span?.failure, "\ufffd");
  });
});

import { defined } from "../../base/defined.ts";
import type { SpanAttributes } from "../../base/trace.ts";

/** Who asks and who serves, as OTLP numbers them (`Span.SpanKind`). */
export const SPAN_KIND = { server: 2, client: 3 } as const;

/** A span that has ended. */
export interface EndedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof SPAN_KIND;
  /** Milliseconds since 1970, with fractions. */
  readonly start: number;
  readonly end: number;
  readonly attributes: SpanAttributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** Why it failed; undefined where it did not. */
  readonly failure: string | undefined;
}

/** `Status.StatusCode` of a span that failed. */
const STATUS_ERROR = 2;

/**
 * The body of an export (OTLP 1.x, JSON Protobuf Encoding): ids in hexadecimal, 64-bit integers as
 * strings, enums as numbers.
 */
export function exportRequest(spans: readonly EndedSpan[], resource: SpanAttributes): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [{ scope: { name: "trunkline" }, spans: spans.map(shapeSpan) }],
      },
    ],
  });
}

/** Durations of one kind of operation with the same attributes. */
export interface DurationSeries {
  readonly attributes: SpanAttributes;
  /** By bound; the last one is for values above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Histograms of durations since `start`, as they are at `time`; both in milliseconds since 1970. */
export interface DurationSnapshot {
  readonly start: number;
  readonly time: number;
  readonly bounds: readonly number[];
  readonly metrics: readonly {
    readonly name: string;
    readonly description: string;
    readonly series: readonly DurationSeries[];
  }[];
}

/** `AggregationTemporality`: what is sent counts from the start of the process. */
const CUMULATIVE = 2;

/** The body of an export of metrics. */
export function metricsRequest(snapshot: DurationSnapshot, resource: SpanAttributes): string {
  const { start, time, bounds, metrics } = snapshot;
  const shaped = metrics.map(({ name, description, series }) => {
    const dataPoints = series.map(({ attributes, counts, sum }) => ({
      attributes: keyValues(attributes),
      startTimeUnixNano: nanoseconds(start),
      timeUnixNano: nanoseconds(time),
      count: String(counts.reduce((all, count) => all + count, 0)),
      bucketCounts: counts.map(String),
      explicitBounds: bounds,
      sum,
    }));
    const histogram = { dataPoints, aggregationTemporality: CUMULATIVE };
    return { name, description, unit: "s", histogram };
  });
  return JSON.stringify({
    resourceMetrics: [
      {
        resource: { attributes: keyValues(resource) },
        scopeMetrics: [{ scope: { name: "trunkline" }, metrics: shaped }],
      },
    ],
  });
}

function shapeSpan(span: EndedSpan): object {
  const { traceId, spanId, parentSpanId, traceState, name, kind, links, failure } = span;
  return {
    ...defined({ traceId, spanId, parentSpanId, traceState, name }),
    kind: SPAN_KIND[kind],
    startTimeUnixNano: nanoseconds(span.start),
    endTimeUnixNano: nanoseconds(span.end),
    attributes: keyValues(span.attributes),
    ...(links.length === 0 ? {} : { links }),
    status: failure === undefined ? {} : { code: STATUS_ERROR, message: failure },
  };
}

function keyValues(attributes: SpanAttributes): object[] {
  const pairs: object[] = [];
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) pairs.push({ key, value: anyValue(value) });
  }
  return pairs;
}

function anyValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** A double has no room for nanoseconds since 1970: the last three digits are always zero. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1_000)}000`;
}

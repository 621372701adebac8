/** Values of a span, as OpenTelemetry has them. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Where a span continues: W3C Trace Context and Baggage, as members of `_meta` (MCP 2026-07-28, basic
 * § `_meta`).
 */
export interface TraceCarrier {
  readonly traceparent: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** How a traced operation ended. */
export interface SpanEnd {
  /** Set if it failed: one of a few names, such as "tool_error". */
  readonly error?: string | undefined;
  readonly says?: string | undefined;
  readonly attributes?: SpanAttributes;
}

/** An operation that is traced. There is one only if tracing is on. */
export interface Span {
  /** The trace context for a program that does a part of the work. */
  readonly carrier: TraceCarrier;
  /** Begins the span of a part that another program does. */
  hop(name: string, attributes: SpanAttributes): Span;
  end(end?: SpanEnd): void;
}

/** Runs work that another program has a part in, and ends its span with the outcome. */
export async function endSpan<T>(
  span: Span,
  work: () => Promise<T>,
  endOf: (result: T) => SpanEnd = () => ({}),
): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // The message may have arguments in it, which are not everybody's to see.
    span.end({ error: error instanceof Error ? error.name : "error" });
    throw error;
  }
  span.end(endOf(result));
  return result;
}

const CARRIED = ["traceparent", "tracestate", "baggage"] as const;

/** Where work continues: its own span, else the one that its caller named in `_meta`. */
export function carrierOf(
  span: Span | undefined,
  meta: Readonly<Record<string, unknown>> | undefined,
): Partial<TraceCarrier> | undefined {
  if (span !== undefined) return span.carrier;
  if (typeof meta?.traceparent !== "string") return undefined;
  const carried = CARRIED.filter((key) => typeof meta[key] === "string");
  return Object.fromEntries(carried.map((key) => [key, meta[key]]));
}

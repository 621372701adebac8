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

/** How a piece of work ended that was observed. */
export interface SpanEnd {
  /** Set where it failed: a name of few, such as "tool_error". */
  readonly error?: string | undefined;
  readonly says?: string | undefined;
  readonly attributes?: SpanAttributes;
}

/** A piece of work that is observed. Only there where tracing is switched on. */
export interface Span {
  /** For whoever does a part of the work elsewhere. */
  readonly carrier: TraceCarrier;
  /** Begins the span of a part that another program does. */
  hop(name: string, attributes: SpanAttributes): Span;
  end(end?: SpanEnd): void;
}

/** Does work that another program has a part in, and observes how it ends. */
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

/** The span that work belongs to, as another program names it. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** The parent of a span, with what travels along. */
export interface RemoteParent extends RemoteSpan {
  readonly traceState: string | undefined;
  readonly baggage: string | undefined;
}

/** W3C Trace Context § traceparent: a version above 00 may have further fields. */
const TRACE_PARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZERO = /^0+$/;

/** W3C Trace Context § tracestate Limits, and W3C Baggage § Limits. */
const MAX_STATE = 512;
const MAX_BAGGAGE = 8_192;
/** Both are header values elsewhere. */
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Reads a `traceparent`. Undefined where it is not one: then the trace begins here. */
export function readTraceParent(text: unknown): RemoteSpan | undefined {
  if (typeof text !== "string" || text.length > MAX_STATE) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACE_PARENT.exec(text) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return undefined;
  if (ZERO.test(traceId) || ZERO.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The parent that a caller names in `_meta`. */
export function readParent(meta: Readonly<Record<string, unknown>>): RemoteParent | undefined {
  const span = readTraceParent(meta.traceparent);
  if (span === undefined) return undefined;
  return {
    ...span,
    traceState: headerValue(meta.tracestate, MAX_STATE),
    baggage: headerValue(meta.baggage, MAX_BAGGAGE),
  };
}

export function writeTraceParent(traceId: string, spanId: string): string {
  return `00-${traceId}-${spanId}-01`;
}

function headerValue(value: unknown, longest: number): string | undefined {
  if (typeof value !== "string" || value === "" || value.length > longest) return undefined;
  return PRINTABLE.test(value) ? value : undefined;
}

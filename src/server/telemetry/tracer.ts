import { randomBytes } from "node:crypto";
import { maskText } from "../../base/text/mask.ts";
import type { Span, SpanAttributes, SpanEnd, TraceCarrier } from "../../base/trace.ts";
import type { EndedSpan } from "./otlp-json.ts";

export interface TracerOptions {
  /** The share of traces that begin here which are recorded, from 0 to 1. */
  readonly sample: number;
  readonly add: (span: EndedSpan) => void;
}

/** What a span begins with. */
export interface SpanStart {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** Where the caller says which span it belongs to. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** The `traceparent` header of the HTTP request that brought it: a link, and not the parent. */
  readonly header?: unknown;
}

type Parent = Pick<RemoteParent, "traceId" | "traceState" | "baggage"> & {
  readonly spanId: string | undefined;
};

/** The longest attribute, in characters: callers can send any text. */
const LONGEST = 4_096;

/** Makes the spans of this process. */
export class Tracer {
  readonly #options: TracerOptions;

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  /** Begins work for a caller. Undefined where it is not recorded: its caller decides, else chance. */
  begin({ name, attributes, meta, header }: SpanStart): Span | undefined {
    const { sample, add } = this.#options;
    const parent = readParent(meta);
    if (!(parent?.isSampled ?? Math.random() < sample)) return undefined;
    const link = readTraceParent(header);
    const isLinked = link !== undefined && link.spanId !== parent?.spanId;
    const links = isLinked ? [{ traceId: link.traceId, spanId: link.spanId }] : [];
    const none = { spanId: undefined, traceState: undefined, baggage: undefined };
    const from: Parent = parent ?? { ...none, traceId: randomHex(16) };
    return new RecordedSpan({ name, kind: "server", parent: from, attributes, links }, add);
  }
}

interface BegunSpan extends Pick<EndedSpan, "name" | "kind" | "attributes" | "links"> {
  readonly parent: Parent;
}

class RecordedSpan implements Span {
  readonly carrier: TraceCarrier;
  readonly #begun: BegunSpan;
  readonly #spanId = randomHex(8);
  readonly #start = performance.timeOrigin + performance.now();
  readonly #add: (span: EndedSpan) => void;
  #isOver = false;

  constructor(begun: BegunSpan, add: (span: EndedSpan) => void) {
    this.#begun = begun;
    this.#add = add;
    const { traceId, traceState, baggage } = begun.parent;
    this.carrier = {
      traceparent: writeTraceParent(traceId, this.#spanId),
      ...(traceState === undefined ? {} : { tracestate: traceState }),
      ...(baggage === undefined ? {} : { baggage }),
    };
  }

  hop(name: string, attributes: SpanAttributes): Span {
    const parent = { ...this.#begun.parent, spanId: this.#spanId };
    return new RecordedSpan({ name, kind: "client", parent, attributes, links: [] }, this.#add);
  }

  end({ error, says, attributes }: SpanEnd = {}): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { name, kind, parent, links } = this.#begun;
    const all = { ...this.#begun.attributes, ...attributes };
    if (error !== undefined) all["error.type"] = error;
    const { traceId, spanId: parentSpanId, traceState } = parent;
    this.#add({
      ...{ traceId, spanId: this.#spanId, parentSpanId, traceState, kind, links },
      name: safe(name),
      start: this.#start,
      end: performance.timeOrigin + performance.now(),
      attributes: Object.fromEntries(Object.entries(all).map(([key, value]) => [key, safe(value)])),
      failure: error === undefined ? undefined : safe(says ?? error),
    });
  }
}

/**
 * A value that may leave the machine: secrets are masked, and its length is limited. Half a code point is
 * replaced, since a collector would refuse the whole batch for it.
 */
function safe<T>(value: T): T | string {
  return typeof value === "string" ? maskText(value).slice(0, LONGEST).toWellFormed() : value;
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}

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

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { attempt } from "../../base/attempt.ts";
import { defined } from "../../base/defined.ts";
import { mask, maskText } from "../../base/text/mask.ts";
import type { Span, SpanAttributes, TraceCarrier } from "../../base/trace.ts";
import { VERSION } from "../../base/version.ts";
import type { OtlpSettings } from "../../config/schema/schema.gen.ts";
import { META, TRACE_HEADER } from "../../protocol/mcp/meta.ts";
import type { TurnObserver } from "../../session/turn/turns.ts";
import type { CallObserver, ObservedCall } from "../../tool/call-observer.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { histogram, type Series, workMetrics } from "../http/metrics.ts";
import type { Observer } from "./observers.ts";
import { type ExporterOptions, otlpExporter } from "./otlp-exporter.ts";
import {
  type DurationSeries,
  type DurationSnapshot,
  type EndedSpan,
  exportRequest,
  metricsRequest,
} from "./otlp-json.ts";

export interface TelemetryOptions {
  readonly settings: OtlpSettings;
  readonly env: NodeJS.ProcessEnv;
  /** Replaces the references in headers by their values. */
  readonly resolve: (headers: Readonly<Record<string, string>>) => Promise<Record<string, string>>;
  readonly report: ExporterOptions<unknown>["report"];
  readonly limits?: ExporterOptions<unknown>["limits"];
}

type Signal = "traces" | "metrics";

const SIGNAL_PATH = /\/v1\/(?:traces|metrics)$/;
/** Milliseconds between two exports of metrics (OpenTelemetry, Environment Variables). */
const EVERY = 60_000;
/** Milliseconds for which the end of the program waits for the collector. */
const FLUSH = 2_000;

/** Traces of this process, sent to the collector of the settings or of the environment. */
export function openTelemetry(options: TelemetryOptions): Observer {
  const { sample = 1, content } = options.settings;
  const resource = resourceOf(options);
  const exporter = otlpExporter<EndedSpan>({
    ...sendingTo("traces", options),
    what: "spans",
    encode: (spans) => exportRequest(spans, resource),
  });
  const tracer = tracerOf({ sample, add: (span) => exporter.add(span) });
  return {
    calls: callSpans(tracer, content === true),
    turns: turnSpans(tracer),
    relayed: (session, meta) =>
      tracer.begin({
        name: "session/prompt",
        attributes: { "gen_ai.conversation.id": session },
        meta,
      }),
    flush: () => exporter.flush(FLUSH),
    get spans() {
      return exporter.counts;
    },
  };
}

/** Metrics of this process, sent to the collector every minute and at the end. */
export function openMetrics(options: TelemetryOptions): Observer {
  const resource = resourceOf(options);
  const operations = operationMetrics();
  const exporter = otlpExporter<DurationSnapshot>({
    ...sendingTo("metrics", options),
    what: "metrics",
    // They count from the start, so that the last one says all.
    encode: (snapshots) => metricsRequest(snapshots.at(-1) as DurationSnapshot, resource),
  });
  const add = (): void => {
    const snapshot = operations.snapshot();
    if (snapshot !== undefined) exporter.add(snapshot);
  };
  setInterval(add, Number(options.env.OTEL_METRIC_EXPORT_INTERVAL) || EVERY).unref();
  const { requests, turns } = operations;
  const calls = { ...operations.calls, ...operations.more };
  const flush = (): Promise<void> => {
    add();
    return exporter.flush(FLUSH);
  };
  return { calls, requests, turns, flush };
}

function resourceOf({ settings, env }: TelemetryOptions): SpanAttributes {
  return {
    "service.name": settings.serviceName ?? (env.OTEL_SERVICE_NAME || "trunkline"),
    "service.version": VERSION,
    "host.name": hostname(),
    "process.pid": process.pid,
  };
}

function sendingTo(signal: Signal, { settings, env, resolve, report, limits }: TelemetryOptions) {
  const own = env[`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_HEADERS`];
  const given = headersIn(own ?? env.OTEL_EXPORTER_OTLP_HEADERS);
  return {
    url: endpointOf(settings, env, signal),
    headers: async () => ({ ...given, ...(await resolve(settings.headers ?? {})) }),
    report,
    ...(limits === undefined ? {} : { limits }),
  };
}

/**
 * The address that a signal is sent to. OpenTelemetry, Protocol Exporter: the path is added to the general
 * address, and a specific one is used as it is.
 */
export function endpointOf(
  { endpoint }: OtlpSettings,
  env: NodeJS.ProcessEnv,
  signal: Signal = "traces",
): string {
  const own = env[`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`];
  if (endpoint === undefined && own) return own;
  const base = endpoint ?? (env.OTEL_EXPORTER_OTLP_ENDPOINT || "http://127.0.0.1:4318");
  return base.replace(SIGNAL_PATH, "").replace(/\/*$/, `/v1/${signal}`);
}

/** `OTEL_EXPORTER_OTLP_HEADERS`: pairs as in W3C Baggage, with percent-encoded values. */
export function headersIn(text = ""): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    if (at < 1) continue;
    const value = pair.slice(at + 1).trim();
    headers[pair.slice(0, at).trim()] = attempt(() => decodeURIComponent(value), value);
  }
  return headers;
}

/** Outcomes of a turn that are its agent's or a person's choice, and no failure. */
const FAILED_TURN = "interrupted";

/** Traces calls of tools, and reads of resources and prompts, with the names of OpenTelemetry's conventions for MCP. */
export function callSpans(tracer: Tracer, hasContent: boolean): CallObserver {
  return {
    begun: (call) => {
      const { name, context } = call;
      return tracer.begin({
        name: `tools/call ${name}`,
        attributes: callAttributes(call, hasContent),
        meta: context.meta,
        header: context.meta[TRACE_HEADER],
      });
    },
    asked: ({ method, name, context }) => {
      const isPrompt = method === "prompts/get";
      const what = isPrompt ? { "gen_ai.prompt.name": name } : { "mcp.resource.uri": name };
      return tracer.begin({
        // An address is no name: there is no end of them.
        name: isPrompt ? `${method} ${name}` : method,
        attributes: { "mcp.method.name": method, ...what, ...callerAttributes(context) },
        meta: context.meta,
        header: context.meta[TRACE_HEADER],
      });
    },
    ended: ({ context }, end) => {
      const error = errorOf(end.outcome);
      // The reason may repeat arguments.
      if (!hasContent) context.span?.end({ error });
      else {
        const { reason: says, result } = end;
        const attributes = { "gen_ai.tool.call.result": result && text(result.content) };
        context.span?.end({ error, says, attributes });
      }
    },
  };
}

/** Traces turns of sessions. */
export function turnSpans(tracer: Tracer): TurnObserver {
  return {
    begun: ({ session, agent, meta = {} }) => {
      const span = tracer.begin({
        name: `session/prompt ${agent}`,
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": agent,
          "gen_ai.conversation.id": session,
        },
        meta: meta ?? {},
      });
      return {
        span,
        ended: (stopReason) => {
          const failed = stopReason === FAILED_TURN ? { error: stopReason } : {};
          span?.end({ ...failed, attributes: { "trunkline.stop_reason": stopReason } });
        },
      };
    },
  };
}

function callAttributes({ name, args, context, tool }: ObservedCall, hasContent: boolean) {
  const attributes: SpanAttributes = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    ...callerAttributes(context),
    "trunkline.server": tool?.source?.server,
    "trunkline.plugin": tool?.bringer,
    "gen_ai.tool.call.arguments": hasContent ? text(args) : undefined,
  };
  return attributes;
}

function callerAttributes({ caller, session, meta }: ToolContext): SpanAttributes {
  const version = meta[META.protocolVersion];
  return {
    "mcp.session.id": session,
    "mcp.protocol.version": typeof version === "string" ? version : undefined,
    "trunkline.door": caller.door,
    "trunkline.client": caller.name,
  };
}

function text(value: unknown): string {
  return JSON.stringify(mask(value)) ?? "";
}

interface TracerOptions {
  /** The share of traces that begin here which are recorded, from 0 to 1. */
  readonly sample: number;
  readonly add: (span: EndedSpan) => void;
}

/** What a span begins with. */
interface SpanStart {
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

export type Tracer = ReturnType<typeof tracerOf>;

/** Makes the spans of this process. */
export function tracerOf({ sample, add }: TracerOptions) {
  /** Begins work for a caller. Undefined where it is not recorded: its caller decides, else chance. */
  function begin({ name, attributes, meta, header }: SpanStart): Span | undefined {
    const parent = readParent(meta);
    if (!(parent?.isSampled ?? Math.random() < sample)) return undefined;
    const link = readTraceParent(header);
    const isLinked = link !== undefined && link.spanId !== parent?.spanId;
    const links = isLinked ? [{ traceId: link.traceId, spanId: link.spanId }] : [];
    const none = { spanId: undefined, traceState: undefined, baggage: undefined };
    const from: Parent = parent ?? { ...none, traceId: randomHex(16) };
    return recordedSpan({ name, kind: "server", parent: from, attributes, links }, add);
  }

  return { begin };
}

interface BegunSpan extends Pick<EndedSpan, "name" | "kind" | "attributes" | "links"> {
  readonly parent: Parent;
}

function recordedSpan(begun: BegunSpan, add: (span: EndedSpan) => void): Span {
  const { parent, name, kind, links } = begun;
  const { traceId, spanId: parentSpanId, traceState, baggage } = parent;
  const spanId = randomHex(8);
  const start = performance.timeOrigin + performance.now();
  let isOver = false;
  const traceparent = `00-${traceId}-${spanId}-01`;

  return {
    carrier: defined<TraceCarrier>({ traceparent, tracestate: traceState, baggage }),
    hop: (hop, attributes) => {
      const own = { ...parent, spanId };
      return recordedSpan({ name: hop, kind: "client", parent: own, attributes, links: [] }, add);
    },
    end: ({ error, says, attributes } = {}) => {
      if (isOver) return;
      isOver = true;
      const all = { ...begun.attributes, ...attributes };
      if (error !== undefined) all["error.type"] = error;
      const masked = Object.entries(all).map(([key, value]) => [key, safe(value)]);
      add({
        ...{ traceId, spanId, parentSpanId, traceState, kind, links, start },
        name: safe(name),
        end: performance.timeOrigin + performance.now(),
        attributes: Object.fromEntries(masked),
        failure: error === undefined ? undefined : safe(says ?? error),
      });
    },
  };
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
interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** The parent of a span, with what travels along. */
interface RemoteParent extends RemoteSpan {
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

function headerValue(value: unknown, longest: number): string | undefined {
  if (typeof value !== "string" || value === "" || value.length > longest) return undefined;
  return PRINTABLE.test(value) ? value : undefined;
}

/** Upper bounds in seconds. OpenTelemetry, Semantic conventions for MCP § Metrics. */
const MCP_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** How long operations take, with the names of OpenTelemetry's conventions for MCP. */
export function operationMetrics() {
  const work = workMetrics(MCP_BOUNDS);
  const start = Date.now();
  const sent = histogram("", "", ["server", "method", "tool", "error"], MCP_BOUNDS);
  const sessions = histogram("", "", ["as", "server", "revision"], MCP_BOUNDS);

  /** What the text of Prometheus has not. */
  const more: Pick<CallObserver, "sent" | "sessionOver"> = {
    sent: ({ server, method, tool = "", milliseconds, error = "" }) =>
      sent.observe(milliseconds, server, method, tool, error),
    sessionOver: ({ as, server = "", revision, milliseconds }) =>
      sessions.observe(milliseconds, as, server, revision),
  };

  /** As it is now; undefined as long as nothing was observed. */
  function snapshot(): DurationSnapshot | undefined {
    const operations = [
      ...work.requestTimes.series().flatMap((each) => {
        const [door, method = "", outcome] = each.values;
        // Calls have more to say.
        if (door !== "mcp" || method === "tools/call") return [];
        const named = method === "unknown" ? "_OTHER" : method;
        const error = outcome === "ok" ? undefined : outcome;
        return seriesOf(each, { "mcp.method.name": named, "error.type": error });
      }),
      ...work.callTimes.series().flatMap((each) => {
        const [tool, server, plugin, outcome, door] = each.values;
        if (door !== "mcp") return [];
        return seriesOf(each, {
          "mcp.method.name": "tools/call",
          "gen_ai.operation.name": "execute_tool",
          ...(tool === "unknown" ? {} : { "gen_ai.tool.name": tool }),
          "error.type": errorOf(outcome),
          "trunkline.server": server || undefined,
          "trunkline.plugin": plugin || undefined,
        });
      }),
    ];
    const turns = work.turnTimes.series().flatMap((each) => {
      const [agent, outcome] = each.values;
      return seriesOf(each, { "gen_ai.agent.name": agent, "trunkline.stop_reason": outcome });
    });
    const requests = sent.series().map((each) => {
      const [server, method, tool, error] = each.values;
      return seriesOf(each, {
        "mcp.method.name": method,
        "gen_ai.operation.name": tool ? "execute_tool" : undefined,
        "gen_ai.tool.name": tool || undefined,
        "error.type": error || undefined,
        "trunkline.server": server,
      });
    });
    const sessionsAs = (as: string): DurationSeries[] =>
      sessions.series().flatMap((each) => {
        const [side, server, revision] = each.values;
        if (side !== as) return [];
        const peer = { "mcp.protocol.version": revision, "trunkline.server": server || undefined };
        return [seriesOf(each, peer)];
      });
    const all = [
      ["mcp.server.operation.duration", "Requests of MCP clients.", operations],
      ["mcp.server.session.duration", "Sessions of MCP clients.", sessionsAs("server")],
      ["mcp.client.operation.duration", "Requests to MCP servers.", requests],
      ["mcp.client.session.duration", "Sessions at MCP servers.", sessionsAs("client")],
      ["trunkline.turn.duration", "Turns of sessions, by the agent that worked.", turns],
    ] as const;
    const metrics = all.flatMap(([name, description, series]) => {
      return series.length === 0 ? [] : [{ name, description, series }];
    });
    if (metrics.length === 0) return undefined;
    return { start, time: Date.now(), bounds: MCP_BOUNDS, metrics };
  }

  return { ...work, more, snapshot };
}

function seriesOf({ counts, sum }: Series, attributes: SpanAttributes): DurationSeries {
  return { attributes, counts: [...counts], sum };
}

/** One of a few names, so that errors can be grouped. */
function errorOf(outcome: string | undefined): string | undefined {
  if (outcome === "ok") return undefined;
  return outcome === "error" ? "tool_error" : outcome;
}

import { hostname } from "node:os";
import { VERSION } from "../../base/version.ts";
import type { OtlpSettings } from "../../config/schema/schema.gen.ts";
import { OtlpExporter, type ExporterOptions } from "./otlp-exporter.ts";
import type { Observer } from "./observers.ts";
import { errorOf, OperationMetrics } from "./operation-metrics.ts";
import {
  type DurationSnapshot,
  type EndedSpan,
  exportRequest,
  metricsRequest,
} from "./otlp-json.ts";
import { Tracer } from "./tracer.ts";
import { mask } from "../../base/text/mask.ts";
import type { SpanAttributes } from "../../base/trace.ts";
import { META, TRACE_HEADER } from "../../protocol/mcp/meta.ts";
import type { TurnObserver } from "../../session/turn/turns.ts";
import type { ToolContext } from "../../tool/tool.ts";
import type { CallObserver, ObservedCall } from "../../tool/call-observer.ts";

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
  const exporter = new OtlpExporter<EndedSpan>({
    ...sendingTo("traces", options),
    what: "spans",
    encode: (spans) => exportRequest(spans, resource),
  });
  const tracer = new Tracer({ sample, add: (span) => exporter.add(span) });
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
  const operations = new OperationMetrics();
  const exporter = new OtlpExporter<DurationSnapshot>({
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
  const { calls, requests, turns } = operations;
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
    headers[pair.slice(0, at).trim()] = decode(pair.slice(at + 1).trim());
  }
  return headers;
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
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

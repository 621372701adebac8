import { hostname } from "node:os";
import { VERSION } from "../../base/version.ts";
import type { OtlpSettings } from "../../config/schema/schema.gen.ts";
import { OtlpExporter, type ExporterOptions } from "./otlp-exporter.ts";
import type { Observer } from "./observers.ts";
import { Tracer } from "./tracer.ts";
import { mask } from "../../base/text/mask.ts";
import type { SpanAttributes } from "../../base/trace.ts";
import { META, TRACE_HEADER } from "../../protocol/mcp/meta.ts";
import type { TurnObserver } from "../../session/turn/turns.ts";
import type { CallEnd, CallObserver, ObservedCall } from "../../tool/call-observer.ts";

export interface TelemetryOptions {
  readonly settings: OtlpSettings;
  readonly env: NodeJS.ProcessEnv;
  /** Replaces the references in headers by their values. */
  readonly resolve: (headers: Readonly<Record<string, string>>) => Promise<Record<string, string>>;
  readonly report: ExporterOptions["report"];
  readonly limits?: ExporterOptions["limits"];
}

const TRACES = "/v1/traces";
/** Milliseconds for which the end of the program waits for the collector. */
const FLUSH = 2_000;

/** Traces of this process, sent to the collector of the settings or of the environment. */
export function openTelemetry(options: TelemetryOptions): Observer {
  const { settings, env, resolve, report, limits } = options;
  const { serviceName = env.OTEL_SERVICE_NAME || "trunkline", sample = 1, content } = settings;
  const given = headersIn(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS);
  const exporter = new OtlpExporter({
    url: endpointOf(settings, env),
    headers: async () => ({ ...given, ...(await resolve(settings.headers ?? {})) }),
    resource: {
      "service.name": serviceName,
      "service.version": VERSION,
      "host.name": hostname(),
      "process.pid": process.pid,
    },
    report,
    ...(limits === undefined ? {} : { limits }),
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

/**
 * The address that traces are sent to. OpenTelemetry, Protocol Exporter: the path is added to the general
 * address, and a specific one is used as it is.
 */
export function endpointOf({ endpoint }: OtlpSettings, env: NodeJS.ProcessEnv): string {
  if (endpoint === undefined && env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) {
    return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  }
  const base = endpoint ?? (env.OTEL_EXPORTER_OTLP_ENDPOINT || "http://127.0.0.1:4318");
  return base.endsWith(TRACES) ? base : base.replace(/\/*$/, TRACES);
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

/** Traces calls of tools, with the names of OpenTelemetry's conventions for MCP. */
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
    ended: ({ context }, end) => {
      const error = errorOf(end);
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
  const { caller, session, meta } = context;
  const version = meta[META.protocolVersion];
  const attributes: SpanAttributes = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "mcp.session.id": session,
    "mcp.protocol.version": typeof version === "string" ? version : undefined,
    "trunkline.door": caller.door,
    "trunkline.client": caller.name,
    "trunkline.server": tool?.source?.server,
    "trunkline.plugin": tool?.bringer,
    "gen_ai.tool.call.arguments": hasContent ? text(args) : undefined,
  };
  return attributes;
}

/** One of a few names, so that errors can be grouped. */
function errorOf({ outcome }: CallEnd): string | undefined {
  if (outcome === "ok") return undefined;
  return outcome === "error" ? "tool_error" : outcome;
}

function text(value: unknown): string {
  return JSON.stringify(mask(value)) ?? "";
}

import { hostname } from "node:os";

import { VERSION } from "../../base/version.ts";
import type { OtlpSettings } from "../../config/schema/schema.gen.ts";
import { OtlpExporter, type ExporterOptions } from "./otlp-exporter.ts";
import type { Observer } from "./observers.ts";
import { callSpans, turnSpans } from "./spans.ts";
import { Tracer } from "./tracer.ts";

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

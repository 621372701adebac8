import * as s from "../../base/capability/settings.ts";

/** What is told of the work: the log, traces, the audit. */
export const telemetry = {
  name: "telemetry",
  settings: {
    log: s.group({
      level: s.choice(
        ["debug", "info", "warn", "error"],
        "Lowest level of log lines that are written.",
        { default: "info", "x-project": true },
      ),
      verbose: s.flag(
        "Log every message; also `TRUNKLINE_VERBOSE=1` or `REMOTE_JUGGLER_VERBOSE=1`.",
        { default: false, "x-project": true },
      ),
      requests: s.flag(
        "Log one line for each request: its door, client, method, tool and server, how long it " +
          "took and how it ended, but no arguments.",
        { default: false },
      ),
    }),
    telemetry: s.shape(
      "TelemetrySettings",
      "What is sent to other programs about the work of the gateway.",
      {
        otlp: s.shape(
          "OtlpSettings",
          "Traces and metrics, sent to an OpenTelemetry collector by OTLP over HTTP.",
          {
            enabled: s.flag("Whether traces are sent; nothing is sent by default."),
            metrics: s.flag(
              "Whether metrics are sent beside the traces, every minute and at the end; by default " +
                "they are not.",
            ),
            endpoint: s.url(
              "URL of the collector, to which `/v1/traces` and `/v1/metrics` are added; default " +
                "`OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://127.0.0.1:4318`.",
            ),
            headers: s.byName(
              s.ANY_TEXT,
              "Headers of each request, beside those of `OTEL_EXPORTER_OTLP_HEADERS`. " +
                "`${keychain:NAME}` and `${NAME}` stand for a secret of the keychain and for a " +
                "variable.",
            ),
            serviceName: s.text(
              "Name of this gateway in traces and metrics; default `OTEL_SERVICE_NAME`, else `trunkline`.",
            ),
            sample: s.number(
              "Share of the traces that begin here which are sent, from 0 to 1; 1 by default. Where " +
                "a client begins the trace, it decides.",
              { minimum: 0, maximum: 1 },
            ),
            content: s.flag(
              "Whether arguments and results of tools are sent too, with secrets masked; by default " +
                "they are not.",
            ),
          },
        ),
      },
      { "x-project": false },
    ),
    audit: s.group({
      anchor: s.path(
        "File that the seals of the audit are appended to as well, best on another machine or " +
          "an append-only file; `trunkline audit verify` compares both.",
        { "x-project": false },
      ),
    }),
  },
} satisfies s.SettingsSchema;

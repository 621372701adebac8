/** What leaves the machine about the work of the gateway, as it is written in a configuration file. */
export const TELEMETRY_SCHEMAS = {
  TelemetrySettings: {
    description: "What is sent to other programs about the work of the gateway.",
    type: "object",
    additionalProperties: false,
    properties: { otlp: { $ref: "#OtlpSettings" } },
  },

  OtlpSettings: {
    description: "Traces, sent to an OpenTelemetry collector by OTLP over HTTP.",
    type: "object",
    additionalProperties: false,
    properties: {
      enabled: {
        type: "boolean",
        description: "Whether traces are sent; nothing is sent by default.",
        "x-project": false,
      },
      endpoint: {
        type: "string",
        format: "uri",
        pattern: "^https?://",
        description:
          "URL of the collector, to which `/v1/traces` is added; default " +
          "`OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://127.0.0.1:4318`.",
        "x-project": false,
      },
      headers: {
        type: "object",
        additionalProperties: { type: "string" },
        description:
          "Headers of each request, beside those of `OTEL_EXPORTER_OTLP_HEADERS`. `${keychain:NAME}` " +
          "and `${NAME}` stand for a secret of the keychain and for a variable.",
        "x-project": false,
      },
      serviceName: {
        type: "string",
        minLength: 1,
        description:
          "Name of this gateway in traces; default `OTEL_SERVICE_NAME`, else `trunkline`.",
        "x-project": false,
      },
      sample: {
        type: "number",
        minimum: 0,
        maximum: 1,
        description:
          "Share of the traces that begin here which are sent, from 0 to 1; 1 by default. Where a client " +
          "begins the trace, it decides.",
        "x-project": false,
      },
      content: {
        type: "boolean",
        description:
          "Whether arguments and results of tools are sent too, with secrets masked; by default they are " +
          "not.",
        "x-project": false,
      },
    },
  },
} as const;

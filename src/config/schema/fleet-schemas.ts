/** Gateways and workers on several machines, as it is written in a configuration file. */
export const FLEET_SCHEMAS = {
  FleetSettings: {
    description: "Sessions across machines: which NATS server, and as whom.",
    type: "object",
    additionalProperties: false,
    properties: {
      url: {
        type: "string",
        minLength: 1,
        pattern: "^(nats|tls)://",
        description:
          "NATS servers where gateways and workers meet, separated by commas, such as " +
          "`nats://bus.example:4222`; `--bus` of `serve` and `worker`.",
        "x-project": false,
      },
      pool: {
        type: "string",
        pattern: "^[A-Za-z0-9_-]{1,32}$",
        default: "default",
        description: "Pool of workers; gateways and workers of different pools share nothing.",
        "x-project": false,
      },
      name: {
        type: "string",
        pattern: "^[A-Za-z0-9_-]{1,64}$",
        description: "Name of this gateway or worker; default the name of the machine.",
        "x-project": false,
      },
      slots: {
        type: "integer",
        minimum: 1,
        maximum: 10000,
        default: 8,
        description: "How many sessions a worker has open at once.",
        "x-project": false,
      },
      labels: {
        type: "object",
        additionalProperties: { type: "string", maxLength: 64 },
        default: {},
        description: "Labels of a worker, which sessions can ask for, such as `gpu`.",
        "x-project": false,
      },
      waiting: {
        type: "integer",
        minimum: 0,
        maximum: 100000,
        default: 1000,
        description:
          "How many new sessions may wait for a free slot; when so many wait, more are refused.",
        "x-project": false,
      },
      replicas: {
        type: "integer",
        minimum: 1,
        maximum: 5,
        description:
          "How many servers of a NATS cluster keep each message: 3 survive the loss of one. Set it at the " +
          "gateways, which create the streams and change those that exist; without it, new streams have one.",
        "x-project": false,
      },
      credentials: {
        type: "string",
        minLength: 1,
        description:
          "File with the credentials for NATS (`.creds`, or one line `USER:PASSWORD`). A relative path " +
          "counts from this file's folder.",
        "x-project": false,
      },
      tls: {
        type: "object",
        additionalProperties: false,
        properties: {
          caFile: {
            type: "string",
            minLength: 1,
            description: "Certificate of the authority that signed the server's, in PEM.",
            "x-project": false,
          },
          certFile: {
            type: "string",
            minLength: 1,
            description: "Own certificate, in PEM, where the server asks for one.",
            "x-project": false,
          },
          keyFile: {
            type: "string",
            minLength: 1,
            description: "Its private key, in PEM.",
            "x-project": false,
          },
        },
      },
    },
  },
} as const;

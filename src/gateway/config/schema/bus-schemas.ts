/** What is said of any program that is started and spoken to. */
export const PROGRAM = {
  command: {
    type: "string",
    minLength: 1,
    description: "Program to start, found as for an MCP server.",
  },
  args: { type: "array", items: { type: "string" }, description: "Its arguments." },
  env: {
    type: "object",
    additionalProperties: { type: "string" },
    description: "Variables it gets besides the usual ones.",
  },
} as const;

/** The plugin bus as it is written in a configuration file. */
export const BUS_SCHEMAS = {
  BusSettings: {
    description: "The plugin bus.",
    type: "object",
    additionalProperties: false,
    properties: {
      listen: {
        type: "string",
        pattern: "^(?:(?:quic|tls)://)?(?:\\[[^\\]]+\\]|[^:/[\\]]+):\\d{1,5}$",
        "x-form": "HOST:PORT, quic://HOST:PORT or tls://HOST:PORT",
        description:
          "Address that plugins and other programs find the bus at, such as `localhost:50100`; " +
          "`tls://HOST:PORT` where UDP is blocked. `trunkline serve` has a bus when this is set " +
          "or there are plugins.",
      },
      certsDir: {
        type: "string",
        minLength: 1,
        description:
          "Folder of the certificates that the bus and its plugins show each other; default " +
          "`certs` in the data folder. Not absolute, it counts from this file's folder.",
      },
      clientCertificate: {
        enum: ["require", "request"],
        default: "require",
        description:
          "Whether whoever connects must have a certificate. `request` lets in programs without " +
          "one, as Orchestra does: anybody who reaches the address, a plugin too, can then call " +
          "every tool.",
      },
      callTimeout: {
        type: "integer",
        minimum: 1_000,
        maximum: 2_147_483_647,
        default: 600_000,
        description:
          "Milliseconds that a plugin may take to answer a call, or to send the next piece of an " +
          "answer; then its caller is told that it hangs.",
      },
      workspace: {
        type: "string",
        minLength: 1,
        description:
          "Folder whose `.projects` holds what plugins store as Markdown; default `workspace` in " +
          "the data folder. Not absolute, it counts from this file's folder.",
      },
      plugins: {
        type: "object",
        additionalProperties: { $ref: "#PluginProgram" },
        default: {},
        description: "Plugins that are started, by id.",
      },
    },
  },

  PluginProgram: {
    description: "A plugin: a program that is started and offers tools on the bus.",
    type: "object",
    additionalProperties: false,
    required: ["command"],
    properties: {
      ...PROGRAM,
      config: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Sent to it when it boots.",
      },
      enabled: {
        type: "boolean",
        description: "Whether it is started; true when left out.",
      },
      dependsOn: {
        type: "array",
        items: { type: "string" },
        description: "Plugins that have to be up before it.",
      },
      needsTools: {
        type: "array",
        items: { type: "string" },
        description:
          "Tools that it may call, besides its own and those that it says itself; `*` for all.",
      },
      providesStorage: {
        type: "array",
        items: { type: "string" },
        description: "Kinds of storage that it provides, besides those that it says itself.",
      },
      providesAi: {
        type: "array",
        items: { type: "string" },
        description: "Providers of AI that it stands for, besides those that it says itself.",
      },
    },
  },
} as const;

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
    description: "Environment variables it gets in addition to the usual ones.",
  },
} as const;

const NAMES = { type: "array", items: { type: "string" } } as const;

/** What is said of any plugin, however it is started. */
const PLUGIN = {
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
    ...NAMES,
    description: "Plugins that have to be ready before it is started.",
  },
  needsTools: {
    ...NAMES,
    description:
      "Tools that it may call, in addition to its own and those in its manifest; `*` for all.",
  },
  permissions: { $ref: "#PluginPermissions" },
  approvedTools: {
    ...NAMES,
    description:
      "Tools of others that it may call, as approved by earlier versions: those in its manifest count " +
      "no more then. `*` for all. `trunkline plugin approve` writes `permissions` instead.",
  },
  providesStorage: {
    ...NAMES,
    description: "Kinds of storage that it provides, in addition to those in its manifest.",
  },
  providesAi: {
    ...NAMES,
    description: "AI providers that it implements, in addition to those in its manifest.",
  },
  callTimeout: {
    type: "integer",
    minimum: 1_000,
    maximum: 2_147_483_647,
    description: "Milliseconds that it may take for a call, instead of `bus.callTimeout`.",
  },
  calls: {
    type: "integer",
    minimum: 1,
    maximum: 2_048,
    description:
      "Calls of clients that it answers at once; 128 when left out. More wait, in order. Calls " +
      "that plugins make and health checks do not count, and never wait.",
  },
  queue: {
    type: "integer",
    minimum: 0,
    maximum: 100_000,
    description:
      "Calls of clients that wait until it answers fewer; 2048 when left out. More are refused.",
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
          "Address that the bus listens on, such as `localhost:50100`; " +
          "`tls://HOST:PORT` where UDP is blocked. `trunkline serve` has a bus when this is set " +
          "or there are plugins.",
      },
      certsDir: {
        type: "string",
        minLength: 1,
        description:
          "Folder of the certificates of the bus and its plugins; default " +
          "`certs` in the data folder. A relative path counts from this file's folder.",
      },
      clientCertificate: {
        enum: ["require", "request"],
        default: "require",
        description:
          "Whether every program that connects needs a certificate. `request` lets in programs without " +
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
          "answer; then the call fails.",
      },
      workspace: {
        type: "string",
        minLength: 1,
        description:
          "Folder whose `.projects` holds what plugins store as Markdown; default `workspace` in " +
          "the data folder. A relative path counts from this file's folder.",
      },
      sandbox: {
        enum: ["auto", "on", "off"],
        default: "auto",
        "x-project": false,
        description:
          "Whether plugins run in a sandbox that keeps them to their `permissions`. `auto` and `on`: " +
          "they do, or are not started. `off`: they run with all of your rights.",
      },
      plugins: {
        type: "object",
        additionalProperties: { $ref: "#PluginProgram" },
        default: {},
        description: "Plugins to start, by id.",
      },
    },
  },

  PluginProgram: {
    description: "A plugin: a program, a module for Node, or an MCP server that is made one.",
    anyOf: [{ $ref: "#PluginCommand" }, { $ref: "#PluginModule" }, { $ref: "#PluginMcp" }],
  },

  PluginCommand: {
    description: "A plugin: a program that is started and offers tools on the bus.",
    type: "object",
    additionalProperties: false,
    required: ["command"],
    properties: { ...PROGRAM, ...PLUGIN },
  },

  PluginModule: {
    description:
      "A plugin that is a module for Node. It shares a process with others, in a worker of its own.",
    type: "object",
    additionalProperties: false,
    required: ["module"],
    properties: {
      module: { type: "string", minLength: 1, description: "The module, as an absolute path." },
      args: PROGRAM.args,
      env: PROGRAM.env,
      process: {
        enum: ["shared", "own"],
        description:
          "`own` gives it a process of its own, for a module that changes the whole process, such as " +
          "its working directory; `shared` when left out.",
      },
      ...PLUGIN,
    },
  },

  PluginPermissions: {
    description:
      "What a plugin may do, as approved by `plugin add`. Everything else is denied: by a sandbox " +
      "(`bus.sandbox`), in a process of its own, and by the bus.",
    type: "object",
    additionalProperties: false,
    properties: {
      everything: {
        type: "boolean",
        description:
          "Whether it runs outside the sandbox, with all of your rights. The bus limits it all the same.",
      },
      tools: {
        type: "array",
        items: { type: "string" },
        description: "Tools of others that it may call, whatever its manifest says; `*` for all.",
      },
      read: {
        type: "array",
        items: { type: "string", pattern: "^/[^*]*$" },
        description: "Absolute paths that it may read, in addition to its own package.",
      },
      write: {
        type: "array",
        items: { type: "string", pattern: "^/[^*]*$" },
        description: "Absolute paths that it may read and write.",
      },
      run: {
        type: "boolean",
        description: "Whether it and the programs that it starts have all of your files.",
      },
      hosts: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description:
          "Hosts that it may reach beside the bus, none when left out: `api.example.org`, " +
          "`*.example.org`, `db.example.org:5432`, `localhost:PORT`; `*` for all but this machine.",
      },
      namespace: {
        type: "string",
        pattern: "^(?:/|[A-Za-z0-9][A-Za-z0-9._-]*)$",
        "x-form": "the id of a plugin, or /",
        description:
          "Whose documents it uses: those of a plugin, mostly its own id, or `/` for those that plugins " +
          "share. Left out, nobody was asked, and it may use none: `trunkline plugin approve` asks.",
      },
      publish: {
        ...NAMES,
        description: "Topics that it may publish to, in addition to its own (`ID/…`); `*` for all.",
      },
      subscribe: {
        ...NAMES,
        description:
          "Topics that it may subscribe to, in addition to its own (`ID/…`); `*` for all.",
      },
      provides: {
        type: "object",
        additionalProperties: false,
        description: "What it may provide, by name; `*` for anything.",
        properties: {
          tools: { ...NAMES, description: "Tools; any when left out." },
          prompts: { ...NAMES, description: "Prompts; any when left out." },
          storage: { ...NAMES, description: "Kinds of storage, such as `markdown`." },
          ai: { ...NAMES, description: "AI providers." },
          transport: { ...NAMES, description: "Transports." },
        },
      },
    },
  },

  PluginMcp: {
    description: "An MCP server on standard streams as a plugin: its tools and prompts.",
    type: "object",
    additionalProperties: false,
    required: ["mcp"],
    properties: {
      mcp: {
        type: "array",
        items: { type: "string" },
        minItems: 1,
        description: 'The words that start the server, such as `["npx", "-y", "SERVER"]`.',
      },
      env: PROGRAM.env,
      ...PLUGIN,
    },
  },
} as const;

/**
 * The configuration as it is written in a file. `x-project` says what a project's own file may set:
 * true without being trusted, false never; anything else once it is trusted.
 */
export const schemas = {
  ConfigFile: {
    description: "Configuration of Trunkline.",
    type: "object",
    additionalProperties: false,
    properties: {
      $schema: {
        type: "string",
        description: "Where an editor finds the schema of this file.",
        "x-project": true,
      },
      server: {
        type: "object",
        additionalProperties: false,
        properties: {
          host: {
            type: "string",
            minLength: 1,
            default: "127.0.0.1",
            description: "Address that `trunkline serve` listens on.",
          },
          port: {
            type: "integer",
            minimum: 0,
            maximum: 65535,
            default: 4180,
            description: "Port that `trunkline serve` listens on; 0 picks a free one.",
          },
        },
      },
      data: {
        type: "string",
        minLength: 1,
        description:
          "Folder for all state; default `$XDG_STATE_HOME/trunkline`, which is usually " +
          "`~/.local/state/trunkline`. A path that is not absolute counts from this file's folder.",
        "x-project": false,
      },
      log: {
        type: "object",
        additionalProperties: false,
        properties: {
          level: {
            enum: ["debug", "info", "warn", "error"],
            default: "info",
            description: "The least serious lines that are written.",
            "x-project": true,
          },
          verbose: {
            type: "boolean",
            default: false,
            description:
              "Log every message; also `TRUNKLINE_VERBOSE=1` or `REMOTE_JUGGLER_VERBOSE=1`.",
            "x-project": true,
          },
        },
      },
      serve: { $ref: "#ServeSettings" },
      limits: { $ref: "#LimitSettings" },
      mcpServers: {
        type: "object",
        additionalProperties: { $ref: "#McpServer" },
        default: {},
        description: "MCP servers whose tools are offered too, by name.",
      },
      agents: {
        type: "object",
        additionalProperties: { $ref: "#AgentCommand" },
        default: {},
        description: "Coding agents that speak ACP, by name.",
      },
      identities: {
        type: "object",
        additionalProperties: { $ref: "#IdentitySettings" },
        default: {},
        description: "Git identities, by name; `trunkline identity add` writes one.",
        "x-project": false,
      },
      "x-juggler": {
        type: "object",
        description: "What RemoteJuggler's configuration held beside its identities, as imported.",
        "x-project": false,
      },
      bus: { $ref: "#BusSettings" },
      policy: {
        type: "object",
        additionalProperties: false,
        properties: { tools: { $ref: "#ToolPolicy" } },
      },
    },
  },

  ServeSettings: {
    description: "Who may reach `trunkline serve`, and how.",
    type: "object",
    additionalProperties: false,
    properties: {
      publicUrl: {
        type: "string",
        format: "uri",
        pattern: "^https?://",
        description:
          "Address that others reach the gateway by, without `/mcp`. With one that is not this " +
          "machine's, every request needs a token.",
      },
      allowedHosts: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z0-9_.-]+$" },
        default: [],
        description:
          "Names that requests may have in `Host`, besides that of `publicUrl` and this machine's.",
      },
      allowedOrigins: {
        type: "array",
        items: { type: "string", format: "uri", pattern: "^https?://" },
        default: [],
        description: "Where pages in a browser may come from that use the gateway.",
      },
      tls: {
        type: "object",
        additionalProperties: false,
        required: ["certFile", "keyFile"],
        properties: {
          certFile: {
            type: "string",
            minLength: 1,
            description:
              "Certificate and its chain, in PEM. Not absolute, it counts from this file's folder.",
          },
          keyFile: {
            type: "string",
            minLength: 1,
            description: "Its private key, in PEM; found in the same way.",
          },
        },
      },
      oauth: {
        type: "object",
        additionalProperties: false,
        required: ["authorizationServers"],
        properties: {
          authorizationServers: {
            type: "array",
            minItems: 1,
            maxItems: 8,
            items: { type: "string", format: "uri", pattern: "^https?://" },
            description:
              "Issuers whose access tokens (signed JWTs) are accepted; `https`, or on this machine.",
          },
          scopes: {
            type: "array",
            maxItems: 64,
            items: { type: "string", pattern: "^[!#-[\\]-~]+$" },
            description: "What a token has to be good for, all of it.",
          },
          audience: {
            type: "string",
            minLength: 1,
            description: "Whom a token may be meant for, besides `publicUrl` with `/mcp`.",
          },
        },
      },
    },
  },

  BusSettings: {
    description: "The plugin bus.",
    type: "object",
    additionalProperties: false,
    properties: {
      listen: {
        type: "string",
        minLength: 1,
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
          "one, as Orchestra does: anybody who reaches the address can then call every tool.",
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
      config: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Sent to it when it boots.",
      },
      enabled: {
        type: "boolean",
        description: "Whether it is started; it is unless this is false.",
      },
      dependsOn: {
        type: "array",
        items: { type: "string" },
        description: "Plugins that have to be up before it.",
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

  LimitSettings: {
    description: "Bounds that keep one peer from taking everything.",
    type: "object",
    additionalProperties: false,
    properties: {
      maxMessage: {
        type: "integer",
        minimum: 1024,
        maximum: 268_435_456,
        default: 10_485_760,
        description: "Bytes of one incoming message.",
      },
      highWater: {
        type: "integer",
        minimum: 1024,
        maximum: 1_073_741_824,
        default: 4_194_304,
        description: "Unsent bytes above which a sender is asked to wait.",
      },
      maxUnsent: {
        type: "integer",
        minimum: 1024,
        maximum: 1_073_741_824,
        default: 67_108_864,
        description: "Unsent bytes above which a peer that does not read is given up.",
      },
      closeGrace: {
        type: "integer",
        minimum: 0,
        maximum: 600_000,
        default: 1_000,
        description: "Milliseconds that closing waits for a peer to take what is unsent.",
      },
      maxInFlight: {
        type: "integer",
        minimum: 1,
        maximum: 1_000_000,
        default: 4_096,
        description: "Requests of one peer that may wait for an answer at once.",
      },
      maxDepth: {
        type: "integer",
        minimum: 16,
        maximum: 1_000,
        default: 256,
        description: "Levels of nesting in one message.",
      },
      maxWork: {
        type: "integer",
        minimum: 10_000,
        maximum: 100_000_000,
        default: 480_000,
        description: "Work that one message makes for the parser, in units of about 50 ns.",
      },
      messages: {
        type: "object",
        additionalProperties: { $ref: "#MessageLimit" },
        default: {},
        description: "Limits of single messages, by method or by prefix such as `fs/*`.",
      },
    },
  },

  MessageLimit: {
    description: "Limits of one kind of message.",
    type: "object",
    additionalProperties: false,
    properties: {
      maxSize: { type: "integer", minimum: 1, description: "Bytes of the whole message." },
      timeout: {
        type: "integer",
        minimum: 1,
        maximum: 2_147_483_647,
        description: "Milliseconds without progress.",
      },
      rate: {
        description: "Calls in a window of time.",
        type: "object",
        additionalProperties: false,
        required: ["limit", "windowMs"],
        properties: {
          limit: {
            type: "integer",
            minimum: 1,
            maximum: 1_000_000,
            description: "Calls that pass in a window.",
          },
          windowMs: {
            type: "integer",
            minimum: 1,
            description: "Length of the window in milliseconds.",
          },
        },
      },
    },
  },

  McpServer: {
    description: "An MCP server: a program that is started, or an address.",
    anyOf: [{ $ref: "#McpCommand" }, { $ref: "#McpAddress" }],
  },

  McpCommand: {
    description: "An MCP server that is started and spoken to on its standard streams.",
    type: "object",
    additionalProperties: false,
    required: ["command"],
    properties: {
      type: {
        enum: ["stdio", "local"],
        description: "With `command`: as other programs write it; not needed.",
      },
      command: {
        type: "string",
        minLength: 1,
        description:
          "Program to start. One that begins with `./`, `../` or `~/` counts from this file's " +
          "folder or the home folder.",
      },
      args: { type: "array", items: { type: "string" }, description: "Its arguments." },
      env: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Variables it gets besides the usual ones.",
      },
      cwd: {
        type: "string",
        minLength: 1,
        description: "Folder it is started in; not absolute, it counts from this file's folder.",
      },
    },
  },

  McpAddress: {
    description: "An MCP server that is reached over HTTP.",
    type: "object",
    additionalProperties: false,
    required: ["url"],
    properties: {
      type: {
        enum: ["http", "sse", "streamable-http"],
        description: "With `url`: as other programs write it; not needed.",
      },
      url: { type: "string", format: "uri", pattern: "^https?://", description: "Its address." },
      headers: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Headers to send with every request.",
      },
    },
  },

  AgentCommand: {
    description: "A coding agent that is started and spoken to in ACP on its standard streams.",
    type: "object",
    additionalProperties: false,
    required: ["command"],
    properties: {
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
    },
  },

  IdentitySettings: {
    description: "Who somebody is to git and to a forge.",
    type: "object",
    additionalProperties: false,
    required: ["provider"],
    properties: {
      provider: {
        enum: ["github", "gitlab", "bitbucket", "other"],
        description: "What kind of forge it is for.",
      },
      host: {
        type: "string",
        minLength: 1,
        description: "Its host; default that of the provider, such as `github.com`.",
      },
      sshHost: {
        type: "string",
        pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        description: "A name for the host that only ssh knows, and finds the right key by.",
      },
      user: { type: "string", minLength: 1, description: "Name of the account on the forge." },
      email: {
        type: "string",
        pattern: "^[^\\s<>]+@[^\\s<>]+$",
        description: "Address that commits bear.",
      },
      displayName: {
        type: "string",
        pattern: "^[^<>\\r\\n]*[^<>\\s.,:;\"'][^<>\\r\\n]*$",
        description: "Name that commits bear; default `user`.",
      },
      sshKey: {
        type: "string",
        pattern: "^(?:/|~/|[A-Za-z]:[\\\\/])",
        description: "File of the private key that ssh logs in with; absolute, or `~/…`.",
      },
      signing: { $ref: "#SigningSettings" },
      tokenSource: { $ref: "#TokenSource" },
      organizations: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description: "Owners of repositories that it is for, such as `acme` or `group/subgroup`.",
      },
      match: {
        type: "array",
        items: { $ref: "#MatchRule" },
        description: "Repositories that it is for; one rule has to fit.",
      },
      "x-juggler": {
        type: "object",
        description: "What RemoteJuggler knew of it and Trunkline has no use for, as imported.",
      },
    },
  },

  SigningSettings: {
    description: "How commits and tags are signed.",
    type: "object",
    additionalProperties: false,
    required: ["format"],
    properties: {
      format: { enum: ["openpgp", "ssh"], description: "By gpg, or by ssh." },
      key: {
        type: "string",
        minLength: 1,
        description:
          "Of `openpgp` the id of a key, default the one for `email`; of `ssh` a file, default " +
          "`sshKey`.",
      },
      signCommits: { type: "boolean", description: "Sign commits; it is so unless this is false." },
      signTags: { type: "boolean", description: "Sign tags; it is so only if this is true." },
      hardware: { type: "boolean", description: "The key lives in a device." },
      touchPolicy: {
        type: "string",
        minLength: 1,
        description: "When the device wants to be touched, such as `on`, `cached` or `off`.",
      },
    },
  },

  TokenSource: {
    description: "Where the token of an identity comes from; never the token itself.",
    type: "object",
    additionalProperties: false,
    required: ["kind"],
    properties: {
      kind: {
        enum: ["keychain", "environment", "command-line", "none"],
        description:
          "The system's keychain, a variable, the forge's own program (`gh`, `glab`), or nowhere.",
      },
      variable: { type: "string", minLength: 1, description: "With `environment`: its name." },
      service: {
        type: "string",
        minLength: 1,
        description: "With `keychain`: what it is kept under.",
      },
    },
  },

  MatchRule: {
    description: "Repositories that fit all that it says.",
    type: "object",
    additionalProperties: false,
    properties: {
      host: {
        type: "string",
        minLength: 1,
        description: "Host of a remote; `*` stands for any text.",
      },
      owner: {
        type: "string",
        minLength: 1,
        description: "Owner of the repository there, groups below it included; likewise.",
      },
      path: {
        type: "string",
        pattern: "^(?:/|~/|[A-Za-z]:[\\\\/])",
        description: "Folder that it lies in; absolute, or `~/…`; likewise.",
      },
      remote: {
        type: "string",
        minLength: 1,
        description: "Address of a remote; likewise.",
      },
    },
  },

  ToolPolicy: {
    description: "Who may call which tool.",
    type: "object",
    additionalProperties: false,
    properties: {
      default: {
        $ref: "#Decision",
        default: "allow",
        description: "What holds for a call that no rule speaks of.",
      },
      rules: {
        type: "array",
        items: { $ref: "#ToolRule" },
        default: [],
        description: "The first rule that fits a call decides.",
      },
      approve: {
        enum: ["first-use", "always"],
        default: "first-use",
        description:
          "When a tool of another server has to be approved by you: once it differs from what it " +
          "was when it was first seen, or always, also when it is new.",
      },
    },
  },

  ToolRule: {
    description: "What holds for the calls that it fits.",
    type: "object",
    additionalProperties: false,
    required: ["tool", "decision"],
    properties: {
      tool: {
        type: "string",
        minLength: 1,
        description: "Name of the tool; `*` stands for any text.",
      },
      caller: {
        type: "string",
        minLength: 1,
        description:
          "Who calls: the name that a program gives itself, or its door; `*` stands for any text.",
      },
      project: {
        type: "string",
        minLength: 1,
        description:
          "Folder of the project it is called in, or one above it; not absolute, it counts from " +
          "this file's folder.",
      },
      arguments: {
        type: "object",
        additionalProperties: { type: "string" },
        description:
          "What arguments look like, by name; `*` stands for any text. What is not text counts as " +
          "JSON, what is missing as empty.",
      },
      decision: { $ref: "#Decision", description: "What becomes of the call." },
    },
  },

  Decision: { enum: ["allow", "ask", "deny"] },
} as const;

const NAMES = { type: "array", items: { type: "string", minLength: 1 } } as const;

const ALLOW = (what: string) =>
  ({
    ...NAMES,
    description: `${what} that are offered; \`*\` stands for any text. Default: all.`,
  }) as const;

const DENY = (what: string) =>
  ({
    ...NAMES,
    description: `${what} that are not offered, also where \`allow\` fits them.`,
  }) as const;

const RENAME = {
  type: "object",
  additionalProperties: { type: "string", pattern: "^[A-Za-z0-9_.-]{1,128}$" },
  description:
    "New names, by the present ones. What else has the new name already is not offered then.",
} as const;

/** What a client sees, as it is written in a configuration file. */
export const PROFILE_SCHEMAS = {
  ProfileSettings: {
    description: "What a client sees of the tools, prompts and resources, and what it may call.",
    type: "object",
    additionalProperties: false,
    properties: {
      for: {
        type: "object",
        additionalProperties: false,
        properties: {
          clients: {
            ...NAMES,
            description:
              "Names that programs give themselves, such as `claude-code`; `*` stands for any text. A " +
              "program can choose any name.",
          },
          tokens: { ...NAMES, description: "Names of access tokens; `*` stands for any text." },
          doors: {
            type: "array",
            items: { enum: ["mcp", "http", "acp", "agent"] },
            description:
              "Ways in: `mcp` is `trunkline mcp`, `http` is MCP over HTTP, `acp` RemoteJuggler's actions of " +
              "`trunkline acp`, `agent` the built-in agent.",
          },
          projects: {
            ...NAMES,
            description:
              "Folders that `trunkline mcp` was started in or a session works in, or folders above those; " +
              "over HTTP there is none. A relative path counts from this file's folder.",
          },
        },
      },
      servers: {
        type: "object",
        additionalProperties: false,
        properties: {
          allow: ALLOW("MCP servers and plugins, by name, and `trunkline` for its own tools,"),
          deny: DENY("Servers"),
        },
      },
      tools: {
        type: "object",
        additionalProperties: false,
        properties: {
          allow: ALLOW("Tools, by name or as `SERVER/NAME`,"),
          deny: DENY("Tools"),
          rename: RENAME,
        },
      },
      prompts: {
        type: "object",
        additionalProperties: false,
        properties: {
          allow: ALLOW("Prompts, by name or as `SERVER/NAME`,"),
          deny: DENY("Prompts"),
          rename: RENAME,
        },
      },
      resources: {
        type: "object",
        additionalProperties: false,
        properties: { allow: ALLOW("Resources, by URI,"), deny: DENY("Resources") },
      },
      policy: {
        type: "object",
        additionalProperties: false,
        properties: {
          default: {
            $ref: "#Decision",
            description: "Decision for calls that no rule matches: `allow`.",
          },
          rules: {
            type: "array",
            items: { $ref: "#ToolRule" },
            description:
              "Rules like those of `policy.tools`, beside them: of the two decisions, the stricter counts.",
          },
        },
      },
      rates: {
        type: "array",
        items: { $ref: "#ProfileRate" },
        description: "How often each client may call; every entry that fits a tool counts.",
      },
      search: {
        type: "boolean",
        description:
          "Whether the client gets two tools instead of all: `search_tools`, which finds tools, and " +
          "`call_tool`, which calls them.",
      },
    },
  },

  ProfileRate: {
    description: "Calls in a time window, of all tools that fit together.",
    type: "object",
    additionalProperties: false,
    required: ["calls", "seconds"],
    properties: {
      tool: {
        type: "string",
        minLength: 1,
        description: "Name of the tool; `*` stands for any text. Default: all.",
      },
      calls: {
        type: "integer",
        minimum: 1,
        maximum: 1_000_000,
        description: "Calls of one client.",
      },
      seconds: {
        type: "number",
        minimum: 1,
        maximum: 86_400,
        description: "Length of the window.",
      },
    },
  },
} as const;

import { BUS_SCHEMAS, PROGRAM } from "./bus-schemas.ts";
import { IDENTITY_SCHEMAS } from "./identity-schemas.ts";
import { LIMIT_SCHEMAS } from "./limit-schemas.ts";
import { MODEL_SCHEMAS } from "./model-schemas.ts";
import { REMOTE_SCHEMAS } from "./remote-schemas.ts";
import { REVIEW_SCHEMAS } from "./review-schemas.ts";
import { SERVE_SCHEMAS } from "./serve-schemas.ts";

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
      remote: { $ref: "#RemoteSettings" },
      limits: { $ref: "#LimitSettings" },
      mcpServers: {
        type: "object",
        additionalProperties: { $ref: "#McpServer" },
        default: {},
        description: "MCP servers whose tools are offered too, by name.",
      },
      agent: {
        type: "string",
        minLength: 1,
        default: "trunkline",
        description:
          "Agent of sessions that name none: one of `agents`, or `trunkline`, the built-in one.",
      },
      agents: {
        type: "object",
        additionalProperties: { $ref: "#AgentCommand" },
        default: {},
        description: "Coding agents that speak ACP, by name.",
      },
      models: { $ref: "#ModelSettings" },
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
      review: { $ref: "#ReviewSettings" },
      policy: {
        type: "object",
        additionalProperties: false,
        properties: { tools: { $ref: "#ToolPolicy" } },
      },
    },
  },

  ...LIMIT_SCHEMAS,

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
      ...PROGRAM,
      identity: {
        type: "string",
        minLength: 1,
        description:
          "Git identity it acts as; without it, the one that the session's folder is for.",
      },
    },
  },

  ...BUS_SCHEMAS,
  ...MODEL_SCHEMAS,
  ...IDENTITY_SCHEMAS,
  ...SERVE_SCHEMAS,
  ...REMOTE_SCHEMAS,
  ...REVIEW_SCHEMAS,

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
      server: {
        type: "string",
        minLength: 1,
        description:
          "Name of the MCP server that the tool is from, in `mcpServers`; `*` stands for any text.",
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
          "Folder of the project that the call is about, or one above it; links are followed. Not " +
          "absolute, it counts from this file's folder.",
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

import { AGENT_SCHEMAS } from "./agent-schemas.ts";
import { BUS_SCHEMAS, PROGRAM } from "./bus-schemas.ts";
import { FLEET_SCHEMAS } from "./fleet-schemas.ts";
import { IDENTITY_SCHEMAS } from "./identity-schemas.ts";
import { LIMIT_SCHEMAS } from "./limit-schemas.ts";
import { MODEL_SCHEMAS } from "./model-schemas.ts";
import { NOTIFY_SCHEMAS } from "./notify-schemas.ts";
import { PROFILE_SCHEMAS } from "./profile-schemas.ts";
import { REMOTE_SCHEMAS } from "./remote-schemas.ts";
import { REVIEW_SCHEMAS } from "./review-schemas.ts";
import { SERVER_SCHEMAS } from "./server-schemas.ts";
import { SERVE_SCHEMAS } from "./serve-schemas.ts";
import { SESSION_SCHEMAS } from "./session-schemas.ts";
import { SETUP_SCHEMAS } from "./setup-schemas.ts";
import { TELEMETRY_SCHEMAS } from "./telemetry-schemas.ts";

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
        description: "Schema of this file, for editors.",
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
          "`~/.local/state/trunkline`. A relative path counts from this file's folder.",
        "x-project": false,
      },
      log: {
        type: "object",
        additionalProperties: false,
        properties: {
          level: {
            enum: ["debug", "info", "warn", "error"],
            default: "info",
            description: "Lowest level of log lines that are written.",
            "x-project": true,
          },
          verbose: {
            type: "boolean",
            default: false,
            description:
              "Log every message; also `TRUNKLINE_VERBOSE=1` or `REMOTE_JUGGLER_VERBOSE=1`.",
            "x-project": true,
          },
          requests: {
            type: "boolean",
            default: false,
            description:
              "Log one line for each request: its door, client, method, tool and server, how long it " +
              "took and how it ended, but no arguments.",
          },
        },
      },
      telemetry: { $ref: "#TelemetrySettings" },
      audit: {
        type: "object",
        additionalProperties: false,
        properties: {
          anchor: {
            type: "string",
            minLength: 1,
            description:
              "File that the seals of the audit are appended to as well, best on another machine or an " +
              "append-only file; `trunkline audit verify` compares both. A relative path counts from this " +
              "file's folder.",
            "x-project": false,
          },
        },
      },
      serve: { $ref: "#ServeSettings" },
      remote: { $ref: "#RemoteSettings" },
      fleet: { $ref: "#FleetSettings" },
      sessions: { $ref: "#SessionSettings" },
      notifications: {
        type: "array",
        items: { $ref: "#NotificationSettings" },
        default: [],
        description: "Who is notified of what happens in sessions while nobody looks.",
        "x-project": false,
      },
      limits: { $ref: "#LimitSettings" },
      mcpServers: {
        type: "object",
        additionalProperties: { $ref: "#McpServer" },
        default: {},
        description: "Other MCP servers whose tools are offered, by name.",
      },
      agent: {
        anyOf: [{ type: "string", minLength: 1 }, { $ref: "#AgentSettings" }],
        description: "Short for `agent.name`, where nothing else of `agent` is set.",
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
        description: "Other parts of RemoteJuggler's configuration, as imported.",
        "x-project": false,
      },
      profiles: {
        type: "object",
        additionalProperties: { $ref: "#ProfileSettings" },
        default: {},
        description:
          "What clients see and may call, by name. A client gets the profile of its token or of " +
          "`trunkline mcp --profile`, else the first whose `for` fits it, else everything.",
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
  ...TELEMETRY_SCHEMAS,
  ...FLEET_SCHEMAS,

  ...SERVER_SCHEMAS,

  AgentCommand: {
    description: "A coding agent that is started and speaks ACP on its standard streams.",
    type: "object",
    additionalProperties: false,
    required: ["command"],
    properties: {
      ...PROGRAM,
      identity: {
        type: "string",
        minLength: 1,
        description: "Git identity it acts as; default: the one that matches the session's folder.",
      },
    },
  },

  ...AGENT_SCHEMAS,
  ...BUS_SCHEMAS,
  ...MODEL_SCHEMAS,
  ...IDENTITY_SCHEMAS,
  ...SERVE_SCHEMAS,
  ...REMOTE_SCHEMAS,
  ...SESSION_SCHEMAS,

  ...NOTIFY_SCHEMAS,
  ...SETUP_SCHEMAS,
  ...REVIEW_SCHEMAS,
  ...PROFILE_SCHEMAS,

  ToolPolicy: {
    description: "Who may call which tool.",
    type: "object",
    additionalProperties: false,
    properties: {
      default: {
        $ref: "#Decision",
        default: "allow",
        description: "Decision for calls that no rule matches.",
      },
      rules: {
        type: "array",
        items: { $ref: "#ToolRule" },
        default: [],
        description: "The first rule that matches a call decides.",
      },
      approve: {
        enum: ["first-use", "always"],
        default: "first-use",
        description:
          "When you have to approve a tool of another server: when it has changed since it " +
          "was first seen (`first-use`), or also when it is new (`always`).",
      },
    },
  },

  ToolRule: {
    description: "A rule for the calls that it matches.",
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
        description: "Name of the tool's MCP server in `mcpServers`; `*` stands for any text.",
      },
      caller: {
        type: "string",
        minLength: 1,
        description:
          "Caller: the name that a program gives itself, or its door; `*` stands for any text.",
      },
      project: {
        type: "string",
        minLength: 1,
        description:
          "Folder of the project that the call is about, or one above it; links are followed. A " +
          "relative path counts from this file's folder.",
      },
      arguments: {
        type: "object",
        additionalProperties: { type: "string" },
        description:
          "Patterns for arguments, by name; `*` stands for any text. A value that is not text is compared as " +
          "JSON, a missing one as empty text.",
      },
      decision: { $ref: "#Decision", description: "Whether the call is allowed." },
    },
  },

  Decision: { enum: ["allow", "ask", "deny"] },
} as const;

/** The messages of the other side, as far as we read them. ACP extensibility: unknown members are allowed. */
const sessionId = { type: "string", minLength: 1, maxLength: 256 } as const;
const meta = { type: ["object", "null"] } as const;
const contentBlock = {
  type: "object",
  required: ["type"],
  properties: { type: { type: "string" } },
} as const;
const mcpServers = {
  type: ["array", "null"],
  items: {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" }, type: { type: "string" } },
  },
} as const;
const directories = {
  type: ["array", "null"],
  items: { type: "string", format: "absolute-path" },
} as const;

/** `cwd` may be empty here: a remote run is set up without one. */
const place = {
  cwd: { type: "string" },
  additionalDirectories: directories,
  mcpServers,
  systemPrompt: {
    type: ["object", "null"],
    required: ["mode", "content"],
    properties: {
      mode: { type: "string" },
      content: { type: "array", items: { type: "object" } },
    },
  },
  _meta: meta,
} as const;

const toolCall = {
  type: "object",
  required: ["toolCallId"],
  properties: { toolCallId: { type: "string" } },
} as const;

const terminal = {
  type: "object",
  required: ["sessionId", "terminalId"],
  properties: { sessionId, terminalId: { type: "string" } },
} as const;

export const schemas = {
  InitializeParams: {
    type: "object",
    required: ["protocolVersion"],
    properties: {
      protocolVersion: {
        type: "integer",
        minimum: 0,
        maximum: 65535,
        description: "The newest version the client speaks.",
      },
      clientCapabilities: { type: "object" },
      clientInfo: {
        type: ["object", "null"],
        properties: { name: { type: "string" }, version: { type: "string" } },
      },
      info: {
        type: ["object", "null"],
        properties: { name: { type: "string" }, version: { type: "string" } },
        description: "Version 2 has these instead of `clientInfo` and `clientCapabilities`.",
      },
      capabilities: { type: ["object", "null"] },
      _meta: meta,
    },
  },
  AuthenticateParams: {
    type: "object",
    required: ["methodId"],
    properties: { methodId: { type: "string" }, _meta: meta },
  },
  SetProviderParams: {
    type: "object",
    required: ["providerId", "apiType", "baseUrl"],
    properties: {
      providerId: { type: "string" },
      apiType: { type: "string" },
      baseUrl: { type: "string" },
      headers: { type: ["object", "null"] },
    },
  },
  ProviderParams: {
    type: "object",
    required: ["providerId"],
    properties: { providerId: { type: "string" } },
  },
  SetTitleParams: {
    type: "object",
    required: ["sessionId", "title"],
    properties: { sessionId, title: { type: "string" } },
  },
  CancelToolCallParams: {
    type: "object",
    required: ["sessionId", "toolCallId"],
    properties: { sessionId, toolCallId: { type: "string" } },
  },
  NewSessionParams: { type: "object", required: ["cwd"], properties: place },
  OldSessionParams: {
    type: "object",
    required: ["sessionId", "cwd"],
    properties: {
      sessionId,
      ...place,
      replayFrom: {
        type: ["object", "null"],
        required: ["type"],
        properties: { type: { enum: ["start"] } },
        description: "Version 2: what was said is shown again from there.",
      },
    },
  },
  ListSessionsParams: {
    type: "object",
    properties: {
      cwd: { type: ["string", "null"], format: "absolute-path" },
      cursor: { type: ["string", "null"] },
      archived: { enum: ["exclude", "include", "only", null] },
    },
  },
  SessionParams: { type: "object", required: ["sessionId"], properties: { sessionId } },
  SetModeParams: {
    type: "object",
    required: ["sessionId", "modeId"],
    properties: { sessionId, modeId: { type: "string" } },
  },
  SetModelParams: {
    type: "object",
    required: ["sessionId", "modelId"],
    properties: { sessionId, modelId: { type: "string" } },
  },
  SetConfigOptionParams: {
    type: "object",
    required: ["sessionId", "configId", "value"],
    properties: { sessionId, configId: { type: "string" }, value: {} },
  },
  PromptParams: {
    type: "object",
    required: ["sessionId", "prompt"],
    properties: {
      sessionId,
      prompt: { type: "array", minItems: 1, items: contentBlock },
      _meta: meta,
    },
  },
  AnswerParams: {
    type: "object",
    required: ["sessionId", "requestId", "optionId"],
    properties: { sessionId, requestId: { type: "string" }, optionId: { type: "string" } },
  },
  UpdateParams: {
    type: "object",
    required: ["sessionId", "update"],
    properties: {
      sessionId,
      update: {
        type: "object",
        required: ["sessionUpdate"],
        properties: { sessionUpdate: { type: "string" } },
      },
    },
  },
  PermissionParams: {
    type: "object",
    required: ["sessionId", "toolCall", "options"],
    properties: {
      sessionId,
      toolCall,
      options: {
        type: "array",
        items: {
          type: "object",
          required: ["optionId", "name", "kind"],
          properties: {
            optionId: { type: "string" },
            name: { type: "string" },
            kind: { enum: ["allow_once", "allow_always", "reject_once", "reject_always"] },
          },
        },
      },
      _meta: meta,
    },
  },
  ReadFileParams: {
    type: "object",
    required: ["sessionId", "path"],
    properties: {
      sessionId,
      path: { type: "string", format: "absolute-path" },
      line: { type: ["integer", "null"], minimum: 0 },
      limit: { type: ["integer", "null"], minimum: 0 },
    },
  },
  WriteFileParams: {
    type: "object",
    required: ["sessionId", "path", "content"],
    properties: {
      sessionId,
      path: { type: "string", format: "absolute-path" },
      content: { type: "string" },
    },
  },
  CreateTerminalParams: {
    type: "object",
    required: ["sessionId", "command"],
    properties: {
      sessionId,
      command: { type: "string" },
      args: { type: ["array", "null"], items: { type: "string" } },
      env: {
        type: ["array", "null"],
        items: {
          type: "object",
          required: ["name", "value"],
          properties: { name: { type: "string" }, value: { type: "string" } },
        },
      },
      cwd: { type: ["string", "null"], format: "absolute-path" },
      outputByteLimit: { type: ["integer", "null"], minimum: 0 },
    },
  },
  TerminalParams: terminal,
  ElicitParams: {
    type: "object",
    required: ["message", "mode"],
    properties: { sessionId, mode: { type: "string" }, message: { type: "string" } },
  },
  McpMessageParams: {
    type: "object",
    required: ["serverId", "requestId", "method"],
    properties: {
      serverId: { type: "string" },
      requestId: { type: "string" },
      method: { type: "string" },
      params: { type: ["object", "null"] },
    },
  },
  McpMessageResult: { type: "object" },
  ElicitResult: {
    type: "object",
    required: ["action"],
    properties: { action: { type: "string" } },
  },
  InitializeResult: {
    type: "object",
    required: ["protocolVersion"],
    properties: {
      protocolVersion: { type: "integer" },
      agentCapabilities: { type: "object" },
      authMethods: { type: "array", items: { type: "object" } },
    },
  },
  NewSessionResult: {
    type: "object",
    required: ["sessionId"],
    properties: {
      sessionId: { type: "string" },
      modes: meta,
      models: meta,
      configOptions: { type: ["array", "null"], items: { type: "object" } },
    },
  },
  SettingsResult: {
    type: ["object", "null"],
    properties: {
      modes: meta,
      models: meta,
      configOptions: { type: ["array", "null"], items: { type: "object" } },
    },
  },
  PromptResult: {
    type: "object",
    required: ["stopReason"],
    properties: {
      stopReason: {
        enum: ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"],
      },
      usage: meta,
      _meta: meta,
    },
  },
  PermissionResult: {
    type: "object",
    required: ["outcome"],
    properties: {
      outcome: {
        type: "object",
        required: ["outcome"],
        properties: { outcome: { type: "string" }, optionId: { type: "string" } },
      },
    },
  },
  ReadFileResult: {
    type: "object",
    required: ["content"],
    properties: { content: { type: "string" } },
  },
  CreateTerminalResult: {
    type: "object",
    required: ["terminalId"],
    properties: { terminalId: { type: "string" } },
  },
  TerminalOutputResult: {
    type: "object",
    required: ["output", "truncated"],
    properties: { output: { type: "string" }, truncated: { type: "boolean" }, exitStatus: meta },
  },
} as const;

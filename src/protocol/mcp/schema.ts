/** The parameters that MCP clients send, as far as we read them. Unknown members are ignored. */
const progressToken = { type: ["string", "number"] } as const;
const meta = { type: "object", properties: { progressToken } } as const;

export const schemas = {
  InitializeParams: {
    type: "object",
    required: ["protocolVersion"],
    properties: {
      protocolVersion: { type: "string", description: "The newest revision the client speaks." },
      capabilities: { type: "object" },
      clientInfo: {
        type: "object",
        properties: { name: { type: "string" }, version: { type: "string" } },
      },
    },
  },
  ListParams: {
    type: "object",
    properties: { cursor: { type: "string" }, _meta: meta },
  },
  CallToolParams: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", minLength: 1 },
      arguments: { type: "object" },
      inputResponses: { type: "object" },
      requestState: { type: "string" },
      task: { type: "object", properties: { ttl: { type: "number" } } },
      _meta: meta,
    },
  },
  ReadResourceParams: {
    type: "object",
    required: ["uri"],
    properties: {
      uri: { type: "string" },
      inputResponses: { type: "object" },
      requestState: { type: "string" },
      _meta: meta,
    },
  },
  WatchParams: {
    type: "object",
    required: ["uri"],
    properties: { uri: { type: "string" } },
  },
  GetPromptParams: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string" },
      arguments: { type: "object", additionalProperties: { type: "string" } },
      inputResponses: { type: "object" },
      requestState: { type: "string" },
      _meta: meta,
    },
  },
  CompleteParams: {
    type: "object",
    required: ["ref", "argument"],
    properties: {
      ref: {
        type: "object",
        required: ["type"],
        properties: {
          type: { type: "string" },
          name: { type: "string" },
          uri: { type: "string" },
        },
      },
      argument: {
        type: "object",
        required: ["name", "value"],
        properties: { name: { type: "string" }, value: { type: "string" } },
      },
      context: {
        type: "object",
        properties: { arguments: { type: "object", additionalProperties: { type: "string" } } },
      },
    },
  },
  SetLevelParams: {
    type: "object",
    required: ["level"],
    properties: {
      level: {
        enum: ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"],
      },
    },
  },
  ListenParams: {
    type: "object",
    required: ["notifications"],
    properties: {
      notifications: {
        type: "object",
        properties: {
          toolsListChanged: { type: "boolean" },
          promptsListChanged: { type: "boolean" },
          resourcesListChanged: { type: "boolean" },
          resourceSubscriptions: { type: "array", items: { type: "string" } },
          taskIds: { type: "array", items: { type: "string" } },
        },
      },
    },
  },
  TaskParams: {
    type: "object",
    required: ["taskId"],
    properties: { taskId: { type: "string" } },
  },
  UpdateTaskParams: {
    type: "object",
    required: ["taskId", "inputResponses"],
    properties: { taskId: { type: "string" }, inputResponses: { type: "object" } },
  },
} as const;

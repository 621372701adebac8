const uri = { type: "string", description: "A file, as a URI." } as const;
const position = {
  type: "object",
  required: ["line"],
  properties: { line: { type: "integer", minimum: 0 } },
} as const;

/** Parameters of the Language Server Protocol 3.17, as far as we read them. Unknown members are accepted. */
export const schemas = {
  InitializeParams: {
    type: "object",
    properties: {
      clientInfo: { type: "object", properties: { name: { type: "string" } } },
      rootUri: { type: ["string", "null"] },
      workspaceFolders: {
        type: ["array", "null"],
        items: { type: "object", required: ["uri"], properties: { uri } },
      },
      capabilities: {
        type: "object",
        properties: {
          window: {
            type: "object",
            properties: {
              showDocument: {
                type: "object",
                properties: { support: { type: "boolean" } },
              },
            },
          },
        },
      },
    },
  },

  DidOpenParams: {
    type: "object",
    required: ["textDocument"],
    properties: {
      textDocument: {
        type: "object",
        required: ["uri", "version", "text"],
        properties: { uri, version: { type: "integer" }, text: { type: "string" } },
      },
    },
  },

  DidChangeParams: {
    type: "object",
    required: ["textDocument", "contentChanges"],
    properties: {
      textDocument: {
        type: "object",
        required: ["uri", "version"],
        properties: { uri, version: { type: "integer" } },
      },
      contentChanges: {
        type: "array",
        items: { type: "object", required: ["text"], properties: { text: { type: "string" } } },
      },
    },
  },

  DocumentParams: {
    type: "object",
    required: ["textDocument"],
    properties: { textDocument: { type: "object", required: ["uri"], properties: { uri } } },
  },

  CodeActionParams: {
    type: "object",
    required: ["textDocument", "range"],
    properties: {
      textDocument: { type: "object", required: ["uri"], properties: { uri } },
      range: {
        type: "object",
        required: ["start", "end"],
        properties: { start: position, end: position },
      },
      context: {
        type: "object",
        properties: { only: { type: "array", items: { type: "string" } } },
      },
    },
  },

  ExecuteCommandParams: {
    type: "object",
    required: ["command"],
    properties: {
      command: { type: "string" },
      arguments: { type: "array" },
    },
  },
} as const;

/** What clients of RemoteJuggler's action dialect send. Unknown members pass. */
export const schemas = {
  InitializeParams: {
    type: "object",
    properties: {
      clientInfo: {
        type: "object",
        properties: { name: { type: "string" }, version: { type: "string" } },
      },
    },
  },

  ExecuteActionParams: {
    type: "object",
    required: ["tool"],
    properties: {
      tool: { type: "string", minLength: 1, description: "The tool to call." },
      arguments: { type: "object" },
      context: {
        type: "object",
        properties: {
          projectPath: { type: "string", description: "The folder that is worked in." },
        },
      },
    },
  },
} as const;

/** Parameters of RemoteJuggler's action dialect. Unknown members are accepted. */
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
          projectPath: { type: "string", description: "Folder of the project." },
        },
      },
    },
  },
} as const;

/** What MCP clients send, as far as it is looked at. Unknown members pass. */
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
} as const;

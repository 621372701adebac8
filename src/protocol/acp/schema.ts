/** What ACP clients send, as far as it is looked at. Unknown members pass. */
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
        type: "object",
        properties: { name: { type: "string" }, version: { type: "string" } },
      },
    },
  },
} as const;

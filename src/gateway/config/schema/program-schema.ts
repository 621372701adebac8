/** What is said of any program that is started and spoken to. */
export const PROGRAM = {
  command: {
    type: "string",
    minLength: 1,
    description: "Program to start, found as for an MCP server.",
  },
  args: { type: "array", items: { type: "string" }, description: "Its arguments." },
  env: {
    type: "object",
    additionalProperties: { type: "string" },
    description: "Variables it gets besides the usual ones.",
  },
} as const;

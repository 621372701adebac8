import { MCP_2025_06_18 } from "./2025-06-18.ts";
import type { Codec } from "./codec.ts";

const before = MCP_2025_06_18;

/** Adds tasks, pages to visit, icons, and streams that a client comes back to. */
export const MCP_2025_11_25: Codec = {
  ...before,
  revision: "2025-11-25",
  has: {
    ...before.has,
    polling: true,
    elicitationMode: true,
    elicitationComplete: true,
    tasks: "client's choice",
  },
  serverCapabilities: {
    ...before.serverCapabilities,
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  },
  shapeTool(tool) {
    const { outputSchema, ...rest } = tool;
    // server/tools § Output Schema: it describes an object, as the structured content is one.
    return outputSchema === undefined || outputSchema.type === "object" ? tool : rest;
  },
};

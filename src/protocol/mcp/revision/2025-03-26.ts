import { MCP_2024_11_05, plainResult, plainTool, withoutLink } from "./2024-11-05.ts";
import type { Codec } from "./codec.ts";

const before = MCP_2024_11_05;

/** Adds batches, annotations of tools, audio, completions as a capability, and words in progress. */
export const MCP_2025_03_26: Codec = {
  ...before,
  revision: "2025-03-26",
  // basic § Batching: implementations MUST support receiving batches. The next revision removed them.
  has: { ...before.has, batches: true },
  serverCapabilities: { ...before.serverCapabilities, completions: {} },
  shapeTool(tool) {
    const { annotations } = tool;
    return annotations === undefined ? plainTool(tool) : { ...plainTool(tool), annotations };
  },
  shapeToolResult: (result) => plainResult(result, withoutLink),
  shapeProgress: (progress, total, message) => ({ progress, total, message }),
};

import { withStructuredObject } from "./2024-11-05.ts";
import { MCP_2025_03_26 } from "./2025-03-26.ts";
import type { Codec } from "./codec.ts";

const before = MCP_2025_03_26;

/** Adds elicitation, structured content, titles and links to resources; removes batches. */
export const MCP_2025_06_18: Codec = {
  ...before,
  revision: "2025-06-18",
  has: { ...before.has, batches: false },
  shapeTool(tool) {
    const { title, outputSchema } = tool;
    return {
      ...before.shapeTool(tool),
      ...(title === undefined ? {} : { title }),
      // The schema of this revision knows objects only.
      ...(outputSchema?.type === "object" ? { outputSchema } : {}),
    };
  },
  shapeToolResult: withStructuredObject,
};

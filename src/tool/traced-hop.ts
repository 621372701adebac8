import { endSpan, type SpanAttributes } from "../base/trace.ts";
import type { ToolContext } from "./tool.ts";

/**
 * Sends a request to another program as a separate part of a traced request. Meanwhile the context has the
 * span of that part, from which the other program continues.
 */
export async function tracedHop<T>(
  context: ToolContext,
  attributes: SpanAttributes & { readonly "mcp.method.name": string },
  work: () => Promise<T>,
): Promise<T> {
  const { span } = context;
  if (span === undefined) return work();
  const {
    "mcp.method.name": method,
    "gen_ai.tool.name": tool,
    "gen_ai.prompt.name": prompt,
  } = attributes;
  const hop = span.hop([method, tool ?? prompt].filter(Boolean).join(" "), attributes);
  context.span = hop;
  try {
    return await endSpan(hop, work, (result) => {
      return (result as { isError?: unknown }).isError === true ? { error: "tool_error" } : {};
    });
  } finally {
    context.span = span;
  }
}

/** The attributes of a call of a tool. */
export const CALL = {
  "mcp.method.name": "tools/call",
  "gen_ai.operation.name": "execute_tool",
} as const;

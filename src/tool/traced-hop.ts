import { endSpan, type Span, type SpanAttributes } from "../base/trace.ts";
import type { ToolContext, ToolResult } from "./tool.ts";

/**
 * Calls a tool of another program as a part of its own of a traced call. Meanwhile the context has the
 * span of that part, from which the other program continues.
 */
export async function tracedHop(
  context: ToolContext,
  span: Span,
  attributes: SpanAttributes & { readonly "gen_ai.tool.name": string },
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const name = attributes["gen_ai.tool.name"];
  const hop = span.hop(`tools/call ${name}`, {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    ...attributes,
  });
  context.span = hop;
  try {
    return await endSpan(hop, work, ({ isError }) => {
      return isError === true ? { error: "tool_error" } : {};
    });
  } finally {
    context.span = span;
  }
}

import { endSpan, type Span, type SpanAttributes, type SpanEnd } from "../base/trace.ts";
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
  const name = `tools/call ${attributes["gen_ai.tool.name"]}`;
  const all = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    ...attributes,
  };
  return hopping(context, span, [name, all], work, ({ isError }) => {
    return isError === true ? { error: "tool_error" } : {};
  });
}

/** Asks another server for a resource or a prompt, as a part of its own where the request is traced. */
export async function tracedAsk<T>(
  context: ToolContext,
  attributes: SpanAttributes & { readonly "mcp.method.name": string },
  work: () => Promise<T>,
): Promise<T> {
  const { span } = context;
  if (span === undefined) return work();
  const { "mcp.method.name": method, "gen_ai.prompt.name": prompt } = attributes;
  const name = prompt === undefined ? method : `${method} ${String(prompt)}`;
  return hopping(context, span, [name, attributes], work);
}

async function hopping<T>(
  context: ToolContext,
  span: Span,
  hopped: Parameters<Span["hop"]>,
  work: () => Promise<T>,
  endOf?: (result: T) => SpanEnd,
): Promise<T> {
  const hop = span.hop(...hopped);
  context.span = hop;
  try {
    return await endSpan(hop, work, endOf);
  } finally {
    context.span = span;
  }
}

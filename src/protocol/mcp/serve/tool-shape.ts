import type { Content, ToolDefinition, ToolResult } from "../../../tool/tool.ts";
import type { Client, JsonObject } from "./client.ts";

/** A tool as the client's revision describes it: members that came later are left out. */
export function shapeTool(client: Client, tool: ToolDefinition): JsonObject {
  const { revision } = client;
  if (revision >= "2025-11-25") return revision > "2025-11-25" ? withoutExecution(tool) : tool;
  const { title, icons: _, annotations, outputSchema, execution: __, ...plain } = tool;
  return {
    ...plain,
    ...(revision >= "2025-03-26" && annotations !== undefined ? { annotations } : {}),
    ...(revision >= "2025-06-18" && title !== undefined ? { title } : {}),
    ...(revision >= "2025-06-18" && outputSchema?.type === "object" ? { outputSchema } : {}),
  };
}

/** `execution` spoke of tasks in 2025-11-25 only. */
function withoutExecution(tool: ToolDefinition): JsonObject {
  if (tool.execution === undefined) return tool;
  const { execution: _, ...rest } = tool;
  return rest;
}

/** What a tool answered, in content that the client's revision knows. */
export function shapeToolResult(client: Client, result: ToolResult): JsonObject {
  const { revision } = client;
  if (revision >= "2025-06-18") return withStructure(result);
  const { structuredContent: _, ...rest } = withStructure(result);
  return { ...rest, content: rest.content.map((content) => shapeContent(client, content)) };
}

/** Clients that do not read structured content must find it as text. */
function withStructure(result: ToolResult): ToolResult {
  if (result.structuredContent === undefined || result.content.length > 0) return result;
  return { ...result, content: [{ type: "text", text: JSON.stringify(result.structuredContent) }] };
}

/** Content of a kind that the revision does not know becomes a text that says what it was. */
export function shapeContent(client: Client, content: Content): Content {
  const { revision } = client;
  if (content.type === "audio" && revision < "2025-03-26") {
    return { type: "text", text: `[audio, ${String(content.mimeType)}]` };
  }
  if (content.type === "resource_link" && revision < "2025-06-18") {
    const name = typeof content.name === "string" ? content.name : "resource";
    return { type: "text", text: `${name}: ${String(content.uri)}` };
  }
  return content;
}

import { isObject } from "../../../base/check.ts";
import { MCP } from "../../../rpc/codes.ts";
import type { Content, ToolDefinition, ToolResult } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import type { Codec } from "./codec.ts";
import { CORE_TASKS } from "./task-shapes.ts";

/** The oldest and plainest revision. Later revisions state only what they add. */
export const MCP_2024_11_05: Codec = {
  revision: "2024-11-05",
  era: "legacy",
  has: {
    session: true,
    batches: false,
    polling: false,
    headerParams: false,
    inputRequired: false,
    elicitationMode: false,
    elicitationComplete: false,
    missingCapabilityError: false,
    silenceAfterAnswer: false,
    listening: false,
    tasks: undefined,
  },
  lacks: new Set(["server/discover", "subscriptions/listen", "tasks/update"]),
  serverCapabilities: {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
  },
  // server/resources § Error Handling.
  resourceNotFound: MCP.resourceNotFound,
  shapeTool: plainTool,
  shapeToolResult: (result) => plainResult(result, withoutAudio),
  shapeProgress: (progress, total) => ({ progress, total }),
  shapeResult: (body) => body,
  // There are no tasks before 2025-11-25. A client that asks for one all the same gets that revision's
  // messages.
  ...CORE_TASKS,
  requestMeta: () => undefined,
};

/** A tool without the members that came after 2024-11-05. */
export function plainTool(tool: ToolDefinition): JsonObject {
  const {
    title: _,
    icons: __,
    annotations: ___,
    outputSchema: ____,
    execution: _____,
    ...plain
  } = tool;
  return plain;
}

/** A result without `structuredContent`, whose content each goes through `shape`. */
export function plainResult(result: ToolResult, shape: (content: Content) => Content): JsonObject {
  const { structuredContent: _, ...rest } = withStructureAsText(result);
  return { ...rest, content: rest.content.map(shape) };
}

/** MCP, server/tools § Structured Content: clients that do not read it must find it as text. */
export function withStructureAsText(result: ToolResult): ToolResult {
  if (result.structuredContent === undefined || result.content.length > 0) return result;
  return { ...result, content: [{ type: "text", text: JSON.stringify(result.structuredContent) }] };
}

/** Before 2026-07-28, structured content is an object; anything else is left to the text. */
export function withStructuredObject(result: ToolResult): ToolResult {
  if (result.structuredContent === undefined) return result;
  const readable = withStructureAsText(result);
  const { structuredContent, ...rest } = readable;
  return isObject(structuredContent) ? readable : rest;
}

/** Audio came with 2025-03-26: it becomes a text that says what it was. */
function withoutAudio(content: Content): Content {
  if (content.type !== "audio") return withoutLink(content);
  return { type: "text", text: `[audio, ${String(content.mimeType)}]` };
}

/** Links to resources came with 2025-06-18. */
export function withoutLink(content: Content): Content {
  if (content.type !== "resource_link") return content;
  const name = typeof content.name === "string" ? content.name : "resource";
  return { type: "text", text: `${name}: ${String(content.uri)}` };
}

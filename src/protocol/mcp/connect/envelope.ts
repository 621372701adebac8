import type { ToolResult } from "../../../tool/tool.ts";
import { isObject, type JsonObject } from "../json-object.ts";
import { META } from "../meta.ts";

/** The same of a tool's answer, whose content is a list whatever the server sent. */
export function plainToolResult(result: JsonObject): ToolResult {
  const plain = plainResult(result);
  const { content } = plain;
  const isContent = Array.isArray(content) && content.every(isObject);
  return (isContent ? plain : { ...plain, content: [] }) as unknown as ToolResult;
}

const OF_A_REVISION = ["resultType", "ttlMs", "cacheScope", "_meta"] as const;

/** A result without what only its revision and its connection need: one shape for both eras. */
export function plainResult(result: JsonObject): JsonObject {
  if (!OF_A_REVISION.some((member) => result[member] !== undefined)) return result;
  const { resultType: _, ttlMs: __, cacheScope: ___, _meta, ...body } = result;
  if (typeof _meta !== "object" || _meta === null) return body;
  const { [META.serverInfo]: ____, [META.relatedTask]: _____, ...meta } = _meta as JsonObject;
  return Object.keys(meta).length === 0 ? body : { ...body, _meta: meta };
}

import type { Question, ToolContext, ToolResult } from "../../../tool/tool.ts";
import { isObject, type JsonObject } from "../serve/client.ts";
import { META, TASKS_EXTENSION } from "../names.ts";
import { MODERN } from "../revision/revisions.ts";
import type { ServerInfo } from "../serve/result.ts";

/** What we can be asked in the name of any client: a handshake is made once for all of them. */
export const LEGACY_CAPABILITIES: JsonObject = {
  roots: {},
  sampling: {},
  elicitation: { form: {}, url: {} },
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
};

/** Members of `_meta` that speak of one connection only. */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  "progressToken",
  META.protocolVersion,
  META.clientCapabilities,
  META.clientInfo,
  META.logLevel,
  META.subscriptionId,
  META.relatedTask,
]);

/** The `_meta` that a caller sent, as far as it is meant for whoever does the work. */
export function passedOn(meta: JsonObject): JsonObject {
  const passed: Record<string, unknown> = {};
  for (const key of Object.keys(meta)) {
    if (!OF_ONE_CONNECTION.has(key)) passed[key] = meta[key];
  }
  return passed;
}

/** That a call may be answered with a task, as a capability. */
export const WITH_TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

/** What each request of 2026-07-28 says about who asks, and what we can do beside that. */
export function modernEnvelope(
  info: ServerInfo,
  context: ToolContext | undefined,
  ours?: JsonObject,
): JsonObject {
  return {
    [META.protocolVersion]: MODERN,
    [META.clientInfo]: info,
    [META.clientCapabilities]: context === undefined ? {} : capabilitiesOf(context, ours),
    ...(context === undefined ? {} : { [META.logLevel]: context.meta[META.logLevel] ?? "info" }),
  };
}

/** What the caller's side can be asked, as capabilities of a client. */
function capabilitiesOf(context: ToolContext, ours: JsonObject | undefined): JsonObject {
  const can = (method: string, params: Question["params"] = {}): boolean =>
    context.canAsk({ method, params });
  const elicitation = {
    ...(can("elicitation/create", { mode: "form" }) ? { form: {} } : {}),
    ...(can("elicitation/create", { mode: "url" }) ? { url: {} } : {}),
  };
  return {
    ...(Object.keys(elicitation).length > 0 ? { elicitation } : {}),
    ...(can("sampling/createMessage")
      ? { sampling: can("sampling/createMessage", { tools: [] }) ? { tools: {} } : {} }
      : {}),
    ...(can("roots/list") ? { roots: {} } : {}),
    ...ours,
  };
}

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

import { APPS_EXTENSION, SKILLS_EXTENSION, type ToolContext } from "../../tool/tool.ts";
import type { JsonObject } from "./json-object.ts";
import { isObject } from "../../base/check.ts";

/** Members of `_meta` that the specification keeps for itself (MCP, Basic, "_meta"). */
export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
  relatedTask: "io.modelcontextprotocol/related-task",
} as const;

/** The extension that brings tasks to 2026-07-28. */
const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The capability of either side to take part in tasks by that extension. */
export const TASKS_EXTENSIONS: JsonObject = { [TASKS_EXTENSION]: {} };
export const TASKS_CAPABILITY: JsonObject = { extensions: TASKS_EXTENSIONS };

/** Whether a side has said that it takes part in tasks by that extension. */
export function hasTasksExtension({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/**
 * Extensions that we pass on between clients and servers, as we announce them to servers. Others are
 * announced to nobody, because their methods would bypass the policy and the audit.
 */
export const ROUTED_EXTENSIONS: JsonObject = {
  [APPS_EXTENSION]: { mimeTypes: ["text/html;profile=mcp-app"] },
  [SKILLS_EXTENSION]: {},
};

/** Of the extensions that a side announces, those that we pass on. */
export function routedOf({ extensions }: JsonObject): JsonObject {
  if (!isObject(extensions)) return NOTHING;
  const routed = Object.keys(ROUTED_EXTENSIONS).filter((name) => isObject(extensions[name]));
  return Object.fromEntries(routed.map((name) => [name, extensions[name]]));
}

const NOTHING: JsonObject = Object.freeze({});

/** The `_meta` of a request's parameters. */
export function metaOf(params: unknown): JsonObject {
  const meta = isObject(params) ? params._meta : undefined;
  return isObject(meta) ? meta : NOTHING;
}

/** The `traceparent` header of the HTTP request, kept beside the one in `_meta`, which counts as the parent. */
export const TRACE_HEADER = "trunkline/traceparent-header";

/** Members of `_meta` that concern one connection only. */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  "progressToken",
  META.protocolVersion,
  META.clientCapabilities,
  META.clientInfo,
  META.logLevel,
  META.subscriptionId,
  META.relatedTask,
  TRACE_HEADER,
]);

/** The `_meta` for a message that is passed on, as an object to spread; empty if nothing is left of it. */
export function metaMember(params: unknown): { readonly _meta?: JsonObject } {
  const _meta = passedOn({ meta: metaOf(params), span: undefined });
  return Object.keys(_meta).length === 0 ? {} : { _meta };
}

/**
 * The `_meta` of a call to an upstream: what its caller sent, without what concerns the caller's own
 * connection, and where a traced call continues.
 */
export function passedOn({
  meta,
  span,
}: Pick<ToolContext, "meta" | "span">): Record<string, unknown> {
  const passed: Record<string, unknown> = {};
  for (const key of Object.keys(meta)) {
    if (!OF_ONE_CONNECTION.has(key)) passed[key] = meta[key];
  }
  if (span !== undefined) Object.assign(passed, span.carrier);
  return passed;
}

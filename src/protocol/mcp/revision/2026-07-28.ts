import { STANDARD } from "../../../rpc/codes.ts";
import type { Question, ToolContext } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { META, ROUTED_EXTENSIONS, TASKS_CAPABILITY } from "../meta.ts";
import { withStructureAsText } from "./2024-11-05.ts";
import { MCP_2025_11_25 } from "./2025-11-25.ts";
import type { Codec } from "./codec.ts";
import { EXTENSION_TASKS } from "./task-shapes.ts";

const before = MCP_2025_11_25;
const { tasks: _, ...serverCapabilities } = before.serverCapabilities;

/** No sessions any more: each request describes its client, and servers ask by their answers. */
export const MCP_2026_07_28: Codec = {
  ...before,
  revision: "2026-07-28",
  era: "modern",
  has: {
    session: false,
    batches: false,
    polling: false,
    headerParams: true,
    inputRequired: true,
    elicitationMode: true,
    elicitationComplete: false,
    missingCapabilityError: true,
    silenceAfterAnswer: true,
    listening: true,
    tasks: "server's choice",
  },
  lacks: new Set([
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "tasks/result",
  ]),
  serverCapabilities: { ...serverCapabilities, ...TASKS_CAPABILITY },
  // server/resources § Error Handling: -32002 was replaced.
  resourceNotFound: STANDARD.invalidParams,
  shapeTool(tool) {
    // `execution` was about the tasks of 2025-11-25.
    if (tool.execution === undefined) return tool;
    const { execution: __, ...rest } = tool;
    return rest;
  },
  shapeToolResult: withStructureAsText,
  shapeResult(body, server, caching) {
    const meta = { ...(body._meta as JsonObject | undefined), [META.serverInfo]: server };
    return { resultType: "complete", ...caching, ...body, _meta: meta };
  },
  ...EXTENSION_TASKS,
  requestMeta: (info, context, ours) => ({
    [META.protocolVersion]: "2026-07-28",
    [META.clientInfo]: info,
    [META.clientCapabilities]:
      context === undefined
        ? { extensions: { ...ROUTED_EXTENSIONS, ...(ours?.extensions as JsonObject | undefined) } }
        : capabilitiesOf(context, ours),
    ...(context === undefined ? {} : { [META.logLevel]: context.meta[META.logLevel] ?? "info" }),
  }),
};

/** The client capabilities by which a caller can be asked questions. */
function capabilitiesOf(context: ToolContext, ours: JsonObject | undefined): JsonObject {
  const extensions = { ...context.extensions, ...(ours?.extensions as JsonObject | undefined) };
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
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  };
}

import { isObject } from "../base/check.ts";
import { type Tool, type ToolDefinition, ToolFault, type ToolResult } from "../tool/tool.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import { STANDARD, TRUNKLINE } from "../rpc/codes.ts";
import { tracedHop } from "../tool/traced-hop.ts";
import { timeoutOf } from "./settings.ts";
import type { Upstream } from "./upstream.ts";

type Entry = Readonly<Record<string, unknown>>;

/** A tool of an upstream, under the name that it has here. */
export function upstreamTool(upstream: Upstream, entry: Entry, name: string): Tool {
  const original = String(entry.name);
  const definition = { ...entry, name, inputSchema: schemaOf(entry) } as ToolDefinition;
  const task = taskSupportOf(entry, upstream.catalogue?.hasTasks === true);
  const harmless = isHarmless(entry);
  const timeout = timeoutOf(upstream.settings);
  const attributes = {
    "gen_ai.tool.name": original,
    "trunkline.server": upstream.name,
    "network.transport": "url" in upstream.settings ? "tcp" : "pipe",
  };
  return {
    definition,
    source: { server: upstream.name, name: original },
    ...(task === undefined ? {} : { task }),
    ...(timeout === undefined ? {} : { limits: { timeout } }),
    // A server that we start ends with us.
    ...("url" in upstream.settings ? { resume: resuming(upstream) } : {}),
    call: (args, context) => {
      const { span } = context;
      const work = (client: McpClient): Promise<ToolResult> =>
        task === "required"
          ? client.callToolAsTask(original, args, context)
          : client.callTool(original, args, context);
      if (span === undefined) return upstream.callToolFor(context, name, work, harmless);
      return tracedHop(context, span, attributes, () =>
        upstream.callToolFor(context, name, work, harmless),
      );
    },
  };
}

function resuming(upstream: Upstream): NonNullable<Tool["resume"]> {
  return async (taskId, context) => {
    try {
      const work = (client: McpClient) => client.resumeTask(taskId, context);
      return await upstream.for(context).use(work, true);
    } catch (error) {
      if (!(error instanceof ToolFault) || error.code !== STANDARD.invalidParams.code) throw error;
      const what = `MCP server '${upstream.name}' does not know its task any more`;
      const since = "which was begun before Trunkline was restarted";
      throw new ToolFault(TRUNKLINE.interrupted.code, `${what}, ${since}. Call the tool again.`);
    }
  };
}

/** MCP, server/tools § Tool (annotations): whether a repeated call has no further effect. */
function isHarmless({ annotations }: Entry): boolean {
  const { readOnlyHint, idempotentHint } = isObject(annotations) ? annotations : {};
  return readOnlyHint === true || idempotentHint === true;
}

function taskSupportOf({ execution }: Entry, hasTasks: boolean): Tool["task"] {
  if (hasTasks) return "if-asked";
  const support = isObject(execution) ? execution.taskSupport : undefined;
  return support === "required" || support === "optional" ? support : undefined;
}

/**
 * Some clients reject a whole list for one tool without a schema, so it gets an empty one, or for one whose
 * arguments are not an object, which they always are.
 */
function schemaOf({ inputSchema }: Entry): Entry {
  if (!isObject(inputSchema)) return { type: "object" };
  return inputSchema.type === "object" ? inputSchema : { ...inputSchema, type: "object" };
}

import type { Arguments, Tool, ToolContext, ToolDefinition, ToolResult } from "../tool/tool.ts";
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
  const call = (args: Arguments, context: ToolContext): Promise<ToolResult> =>
    upstream.callToolFor(
      context,
      name,
      (client, around) =>
        task === "required"
          ? client.callToolAsTask(original, args, context, around)
          : client.callTool(original, args, context, around),
      harmless,
    );
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
    call: (args, context) => {
      const { span } = context;
      if (span === undefined) return call(args, context);
      return tracedHop(context, span, attributes, () => call(args, context));
    },
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

/** Some clients reject a whole list for one tool without a schema, so it gets an empty one. */
function schemaOf({ inputSchema }: Entry): Entry {
  if (!isObject(inputSchema)) return { type: "object" };
  return inputSchema.type === "object" ? inputSchema : { type: "object", ...inputSchema };
}

function isObject(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

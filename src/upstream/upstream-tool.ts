import { RpcError } from "../rpc/rpc-error.ts";
import { type Tool, type ToolDefinition, ToolFault, type ToolResult } from "../tool/tool.ts";
import type { Upstream } from "./upstream.ts";

type Entry = Readonly<Record<string, unknown>>;

/** A tool of an upstream, under the name that it has here. */
export function upstreamTool(upstream: Upstream, entry: Entry, name: string): Tool {
  const original = String(entry.name);
  const definition = { ...entry, name, inputSchema: schemaOf(entry) } as ToolDefinition;
  const task = taskSupportOf(entry);
  return {
    definition,
    source: { server: upstream.name, name: original },
    ...(task === undefined ? {} : { task }),
    call: (args, context) =>
      passingFaults(async () => {
        const result = await upstream.use(
          (client) =>
            task === "required"
              ? client.callToolAsTask(original, args, context)
              : client.callTool(original, args, context),
          isHarmless(entry),
        );
        return asToolResult(result);
      }),
  };
}

/** What an upstream answered with as an error is the caller's to see, code and all. */
export async function passingFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RpcError) throw new ToolFault(error.code, error.message, error.data);
    throw error;
  }
}

/** Whether the tool says that calling it once more changes nothing more. */
function isHarmless({ annotations }: Entry): boolean {
  const { readOnlyHint, idempotentHint } = isObject(annotations) ? annotations : {};
  return readOnlyHint === true || idempotentHint === true;
}

function taskSupportOf({ execution }: Entry): Tool["task"] {
  const support = isObject(execution) ? execution.taskSupport : undefined;
  return support === "required" || support === "optional" ? support : undefined;
}

/** Clients give up a whole list for one tool without a schema. */
function schemaOf({ inputSchema }: Entry): Entry {
  if (!isObject(inputSchema)) return { type: "object" };
  return inputSchema.type === "object" ? inputSchema : { type: "object", ...inputSchema };
}

function asToolResult(result: Entry): ToolResult {
  const { content } = result;
  const isContent = Array.isArray(content) && content.every(isObject);
  return { ...result, content: isContent ? content : [] } as unknown as ToolResult;
}

function isObject(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

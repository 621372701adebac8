import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Arguments, ToolDefinition } from "../../../tool/tool.ts";
import { toStruct } from "./json-struct.ts";
import type {
  ToolDefinition as BusTool,
  ToolDefinitionSchema,
  ToolRequest,
  ToolRequestSchema,
} from "../plugin.gen.ts";

/** Orchestra transport.stdio § tools/call: the `caller_plugin` of calls from MCP on stdio. */
export const STDIO_CALLER = "transport.stdio";

/** A call of a tool, on its way to the bus or from it. */
export interface ToolCall {
  readonly name: string;
  readonly args?: Arguments;
  readonly caller?: string;
  readonly session?: string;
  /** The folder of the project that it is about. */
  readonly project?: string | undefined;
  /** Which of several plugins that offer AI is meant. */
  readonly provider?: string;
  readonly traceParent?: string;
}

/** A plugin's tool as the doors describe it (Orchestra transport.stdio § tools/list). */
export function fromBusTool({ name, description, inputSchema }: BusTool): ToolDefinition {
  return {
    name,
    ...(description === "" ? {} : { description }),
    // Clients give up a whole list for one tool whose schema is not that of an object.
    inputSchema: inputSchema?.type === "object" ? inputSchema : { type: "object", ...inputSchema },
  };
}

/** A tool of the house as plugins see it. */
export function toBusTool(tool: ToolDefinition): MessageInitShape<typeof ToolDefinitionSchema> {
  const { name, title, description } = tool;
  return {
    name,
    description: description ?? title ?? "",
    inputSchema: toStruct(tool.inputSchema, `${name}.inputSchema`),
  };
}

export function toToolRequest(call: ToolCall): MessageInitShape<typeof ToolRequestSchema> {
  const { name, args, caller, session, project, provider, traceParent } = call;
  return {
    toolName: name,
    callerPlugin: caller ?? STDIO_CALLER,
    ...(args === undefined ? {} : { arguments: toStruct(args, "arguments") }),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(project === undefined ? {} : { project }),
    ...(provider === undefined ? {} : { provider }),
    ...(traceParent === undefined ? {} : { traceParent }),
  };
}

export function fromToolRequest(request: ToolRequest): ToolCall {
  const { toolName, callerPlugin, sessionId, project, provider, traceParent } = request;
  return {
    name: toolName,
    args: request.arguments ?? {},
    caller: callerPlugin,
    ...(sessionId === "" ? {} : { session: sessionId }),
    ...(project === "" ? {} : { project }),
    ...(provider === "" ? {} : { provider }),
    ...(traceParent === "" ? {} : { traceParent }),
  };
}

/**
 * Where a tool says that calling it twice does no more than calling it once. The bus has no place
 * for it but the schema, where programs that do not know it pass it over.
 */
export const IDEMPOTENT = "x-idempotent";

export function isIdempotent({ inputSchema }: BusTool): boolean {
  return inputSchema?.[IDEMPOTENT] === true;
}

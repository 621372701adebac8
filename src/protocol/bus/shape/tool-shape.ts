import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Arguments, ToolDefinition } from "../../../tool/tool.ts";
import { toStruct } from "./json-struct.ts";
import type {
  ToolDefinition as BusTool,
  ToolDefinitionSchema,
  ToolRequest,
} from "../plugin.gen.ts";

/** Orchestra transport.stdio § tools/call: the `caller_plugin` of calls from MCP on stdio. */
export const STDIO_CALLER = "transport.stdio";

/**
 * The member of a tool's schema that marks it as idempotent. The bus has no other place for that, and
 * programs that do not know the member ignore it. MCP has an annotation, which is what clients see.
 */
const IDEMPOTENT = "x-idempotent";

/** A call of a tool, on its way to the bus or from it. */
export interface ToolCall {
  readonly name: string;
  readonly args?: Arguments;
  readonly caller?: string;
  readonly session?: string | undefined;
  /** The folder of the project that it is about. */
  readonly project?: string | undefined;
  /** The plugin that is meant, if several offer AI. */
  readonly provider?: string | undefined;
  readonly traceParent?: string | undefined;
}

/** A plugin's tool as the doors describe it (Orchestra transport.stdio § tools/list). */
export function fromBusTool({ name, description, inputSchema }: BusTool): ToolDefinition {
  const { [IDEMPOTENT]: mark, ...schema } = inputSchema ?? {};
  return {
    name,
    ...(description === "" ? {} : { description }),
    // Some clients reject a whole list for one tool whose schema is not that of an object.
    inputSchema: schema.type === "object" ? schema : { type: "object", ...schema },
    ...(mark === true ? { annotations: { idempotentHint: true } } : {}),
  };
}

/** A tool of the program as plugins see it. */
export function toBusTool(tool: ToolDefinition): MessageInitShape<typeof ToolDefinitionSchema> {
  const { name, title, description, annotations } = tool;
  const mark = annotations?.idempotentHint === true ? { [IDEMPOTENT]: true } : {};
  return {
    name,
    description: description ?? title ?? "",
    inputSchema: toStruct({ ...tool.inputSchema, ...mark }, `${name}.inputSchema`),
  };
}

/** The common part of calls that are answered at once and of those answered in pieces. */
type AnyToolRequest = Pick<
  ToolRequest,
  ("toolName" | "arguments" | "callerPlugin" | "sessionId" | "project" | "provider") | "traceParent"
>;

export function toToolRequest(call: ToolCall): Partial<AnyToolRequest> {
  const { name, args, caller, session, project, provider, traceParent } = call;
  const request: Partial<AnyToolRequest> = {
    toolName: name,
    callerPlugin: caller ?? STDIO_CALLER,
  };
  if (args !== undefined) request.arguments = toStruct(args, "arguments");
  if (session !== undefined) request.sessionId = session;
  if (project !== undefined) request.project = project;
  if (provider !== undefined) request.provider = provider;
  if (traceParent !== undefined) request.traceParent = traceParent;
  return request;
}

export function fromToolRequest(request: AnyToolRequest): ToolCall {
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

/** Whether a call of the tool may be repeated where it is not known if it was carried out. */
export function isIdempotent({ annotations }: ToolDefinition): boolean {
  return annotations?.idempotentHint === true;
}

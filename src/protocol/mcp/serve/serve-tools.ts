import type { Route } from "../../../rpc/route.ts";
import { CannotAsk, errorResult, type Tool, type ToolResult } from "../../../tool/tool.ts";
import type { Client } from "./client.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { METHODS } from "../methods.ts";
import type { Asking } from "./input-required.ts";
import { hasTasksExtension } from "../meta.ts";
import { pageOf, UNCACHED, missingSources } from "./list-result.ts";
import { type McpRequest, rethrow } from "./request.ts";
import type { CallToolParams } from "../schema.gen.ts";
import { turn } from "./rounds.ts";
import type { McpToolContext } from "./tool-context.ts";

export type CallRequest = McpRequest<CallToolParams>;

/** tools/list and tools/call. */
export function serveTools(door: McpDoor): Route<Connection>[] {
  const { offer, routes } = door;
  return [
    routes.serve(
      METHODS.listTools,
      (request) => {
        const { client, params } = request;
        const list = (): JsonObject => {
          const context = door.contextOf(request);
          const { page, next } = pageOf(offer.tools.listFor(context), params.cursor);
          const tools = page.map((tool) => client.codec.shapeTool(describe(tool)));
          return { tools, ...next, ...missingSources(offer, context.profile) };
        };
        return offer.known()?.then(list) ?? list();
      },
      { caching: UNCACHED },
    ),
    routes.serve(METHODS.callTool, (request) => callTool(door, request), { mapsErrors: true }),
  ];
}

function describe(tool: Tool): Tool["definition"] {
  if (tool.task === undefined) return tool.definition;
  const taskSupport = tool.task === "required" ? "required" : "optional";
  return { ...tool.definition, execution: { taskSupport } };
}

function callTool(door: McpDoor, request: CallRequest): JsonObject | Promise<JsonObject> {
  const { client, params, call } = request;
  const tool = door.offer.tools.get(params.name, door.profileOf(client, call.state));
  if (tool?.task !== undefined && mayBeTask(request, tool.task)) {
    return callAsTask(door, request, tool);
  }
  if (client.codec.has.inputRequired && mayAsk(client)) return callInRounds(door, request);
  return run(door, request, door.contextOf(request));
}

/** Whether a call is one for a task, or an error because it has to be one. Most are not. */
function mayBeTask({ client, params }: CallRequest, task: Tool["task"]): boolean {
  switch (client.codec.has.tasks) {
    case "server's choice":
      return task === "required" || hasTasksExtension(client.capabilities);
    case "client's choice":
      return task === "required" || params.task !== undefined;
    case undefined:
      return false;
  }
}

async function callAsTask(door: McpDoor, request: CallRequest, tool: Tool): Promise<JsonObject> {
  const { beginTask } = await import("./task/begin-task.ts");
  return beginTask(door, request, tool);
}

/** Whether the client can be asked anything: if not, the call takes the shorter path. */
export function mayAsk({ capabilities }: Client): boolean {
  return (
    capabilities.elicitation !== undefined ||
    capabilities.sampling !== undefined ||
    capabilities.roots !== undefined
  );
}

export function callInRounds(
  door: McpDoor,
  request: CallRequest,
  task: Pick<Asking, "goOn" | "goOnWhen"> = {},
): JsonObject | Promise<JsonObject> {
  const { params, call } = request;
  return door.serveInRounds({
    method: "tools/call",
    params: params as unknown as JsonObject,
    principal: call.state.principal.id,
    context: door.contextOf(request),
    work: (context) => run(door, request, context),
    ...task,
  });
}

/** Calls the tool, and shapes its answer for the client's revision. */
export function run(
  door: McpDoor,
  { client, params }: CallRequest,
  context: McpToolContext,
): JsonObject | Promise<JsonObject> {
  const result = door.offer.tools.call(params.name, params.arguments ?? {}, context);
  return result instanceof Promise
    ? shapeLater(client, context, result)
    : shape(client, context, result);
}

function shape(
  { codec }: Client,
  context: McpToolContext,
  result: ToolResult,
): JsonObject | Promise<JsonObject> {
  const answer = codec.shapeToolResult(result);
  // Some clients lose progress that arrives in one read with the answer.
  return context.hasProgressed ? turn().then(() => answer) : answer;
}

export function shapeLater(
  client: Client,
  context: McpToolContext,
  result: Promise<ToolResult>,
): Promise<JsonObject> {
  const failed = client.codec.has.missingCapabilityError ? undefined : tellTheModel;
  return result.then((value) => shape(client, context, value), failed);
}

function tellTheModel(error: unknown): JsonObject {
  if (error instanceof CannotAsk) return { ...errorResult(error.message) };
  return rethrow(error);
}

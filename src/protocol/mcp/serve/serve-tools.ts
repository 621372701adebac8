import type { Route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import { CannotAsk, errorResult, type Tool, type ToolResult } from "../../../tool/tool.ts";
import { type Client, hasTasks, isModern, type JsonObject, missingCapability } from "./client.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { METHODS } from "../methods.ts";
import type { Asking } from "./input-required.ts";
import { META, TASKS_EXTENSION } from "../names.ts";
import { pageOf } from "./page.ts";
import { type McpRequest, rethrow } from "./request.ts";
import { UNCACHED, whatIsMissing } from "./result.ts";
import type { CallToolParams } from "../schema.gen.ts";
import { Rounds, turn } from "./rounds.ts";
import type { Task } from "./task.ts";
import { legacyTask, modernTask } from "./tasks.ts";
import type { Ask, McpToolContext } from "./tool-context.ts";
import { shapeTool, shapeToolResult } from "./tool-shape.ts";

type CallRequest = McpRequest<CallToolParams>;

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
          const tools = page.map((tool) => shapeTool(client, describe(tool)));
          return { tools, ...next, ...whatIsMissing(offer) };
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
  const { client, params } = request;
  const tool = door.offer.tools.get(params.name);
  if (tool?.task !== undefined) {
    const asTask = callAsTask(door, request, tool);
    if (asTask !== undefined) return asTask;
  }
  if (isModern(client) && mayAsk(client)) return callInRounds(door, request);
  return run(door, request, door.contextOf(request));
}

/** A client that can be asked nothing is never made to wait for the machinery of asking. */
function mayAsk({ capabilities }: Client): boolean {
  return (
    capabilities.elicitation !== undefined ||
    capabilities.sampling !== undefined ||
    capabilities.roots !== undefined
  );
}

function callInRounds(
  door: McpDoor,
  request: CallRequest,
  goOn?: Asking["goOn"],
): JsonObject | Promise<JsonObject> {
  const { params, call } = request;
  return door.inputRequired.serve({
    method: "tools/call",
    params: params as unknown as JsonObject,
    principal: call.state.principal.id,
    context: door.contextOf(request),
    work: (context) => run(door, request, context),
    ...(goOn === undefined ? {} : { goOn }),
  });
}

/** Begins a task where both sides want one; undefined where the call is to be answered at once. */
function callAsTask(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
): JsonObject | Promise<JsonObject> | undefined {
  const { client, params, call } = request;
  if (isModern(client)) {
    // Here it is the server that decides, and one behind us has not yet.
    if (tool.task === "if-asked") return undefined;
    if (!hasTasks(client)) {
      if (tool.task === "optional") return undefined;
      throw missingCapability({ extensions: { [TASKS_EXTENSION]: {} } });
    }
    if (tool.asksFirst === true && mayAsk(client)) {
      return callInRounds(door, request, async (rounds, context) => {
        context.becomeTask();
        const { id: owner } = call.state.principal;
        const stop = (reason: Error): void => context.stopped(reason);
        return promised(await door.tasks.start({ owner, begin: () => rounds, stop }));
      });
    }
    const begun = begin(door, request, undefined);
    return begun instanceof Promise ? begun.then(promised) : promised(begun);
  }
  if (params.task === undefined || client.revision < "2025-11-25") {
    if (tool.task !== "required" || client.revision < "2025-11-25") return undefined;
    throw new RpcError(STANDARD.methodNotFound.code, `'${params.name}' must be called as a task`);
  }
  const legacy = (task: Task): JsonObject => {
    call.state.tasks.add(task.id);
    return { task: legacyTask(task) };
  };
  const begun = begin(door, request, params.task.ttl);
  return begun instanceof Promise ? begun.then(legacy) : legacy(begun);
}

function promised(task: Task): JsonObject {
  return { ...modernTask(task), resultType: "task" };
}

function begin(door: McpDoor, request: CallRequest, ttl: unknown): Task | Promise<Task> {
  const { call } = request;
  const context = door.contextOf(request);
  context.becomeTask();
  return door.tasks.start({
    owner: call.state.principal.id,
    begin: () => {
      return new Rounds((ask: Ask) => {
        context.askThrough(ask);
        return run(door, request, context);
      });
    },
    stop: (reason) => context.stopped(reason),
    ttl,
  });
}

/** Calls the tool. Its answer is in the client's revision. */
function run(
  door: McpDoor,
  { client, params }: CallRequest,
  context: McpToolContext,
): JsonObject | Promise<JsonObject> {
  const shape = (result: ToolResult): JsonObject | Promise<JsonObject> => {
    const answer = shapeToolResult(client, result);
    // Clients that read an answer together with the progress before it lose the progress.
    return context.hasProgressed ? turn().then(() => answer) : answer;
  };
  const result = door.offer.tools.call(params.name, params.arguments ?? {}, context);
  if (!(result instanceof Promise)) return shape(result);
  // Before 2026-07-28 no error says that a client lacks something; the model is told instead.
  return result.then(shape, isModern(client) ? undefined : tellTheModel);
}

function tellTheModel(error: unknown): JsonObject {
  if (error instanceof CannotAsk) return { ...errorResult(error.message) };
  return rethrow(error);
}

/** For tasks/result: the answer of a task says whose it is. */
export function relatedTo(taskId: string): JsonObject {
  return { [META.relatedTask]: { taskId } };
}

import type { Route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import {
  CannotAsk,
  errorResult,
  type RemoteTask,
  type Tool,
  type ToolResult,
} from "../../../tool/tool.ts";
import { type Client, missingCapability } from "./client.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { METHODS } from "../methods.ts";
import type { Asking } from "./input-required.ts";
import { hasTasksExtension, META, TASKS_CAPABILITY } from "../meta.ts";
import { pageOf, UNCACHED, missingSources } from "./list-result.ts";
import { type McpRequest, rethrow } from "./request.ts";
import type { CallToolParams } from "../schema.gen.ts";
import { Rounds, turn } from "./rounds.ts";
import type { Task } from "./task.ts";
import type { ResumedWork } from "./tasks.ts";
import type { Ask, McpToolContext } from "./tool-context.ts";

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
  if (tool?.task !== undefined) {
    const asTask = callAsTask(door, request, tool);
    if (asTask !== undefined) return asTask;
  }
  if (client.codec.has.inputRequired && mayAsk(client)) return callInRounds(door, request);
  return run(door, request, door.contextOf(request));
}

/** Whether the client can be asked anything: if not, the call takes the shorter path. */
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
  task: Pick<Asking, "goOn" | "goOnWhen"> = {},
): JsonObject | Promise<JsonObject> {
  const { params, call } = request;
  return door.inputRequired.serve({
    method: "tools/call",
    params: params as unknown as JsonObject,
    principal: call.state.principal.id,
    context: door.contextOf(request),
    work: (context) => run(door, request, context),
    ...task,
  });
}

/** Begins a task where both sides want one; undefined where the call is to be answered at once. */
function callAsTask(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
): JsonObject | Promise<JsonObject> | undefined {
  switch (request.client.codec.has.tasks) {
    case "server's choice":
      return callAsTaskIfWeChoose(door, request, tool);
    case "client's choice":
      return callAsTaskIfAsked(door, request, tool);
    case undefined:
      return undefined;
  }
}

/** The tasks extension of MCP 2026-07-28: a client that declares it may be answered with a task. */
function callAsTaskIfWeChoose(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
): JsonObject | Promise<JsonObject> | undefined {
  const { client, call } = request;
  if (!hasTasksExtension(client.capabilities)) {
    if (tool.task !== "required") return undefined;
    throw missingCapability(TASKS_CAPABILITY);
  }
  const answer = (task: Task): JsonObject => client.codec.shapeNewTask(task);
  // Of "if-asked", it is the upstream that chooses, and it has not been called yet.
  const isTheirs = tool.task === "if-asked";
  if (isTheirs || (tool.asksFirst === true && mayAsk(client))) {
    const goOn: Asking["goOn"] = async (rounds, context) => {
      context.becomeTask();
      const { id: owner } = call.state.principal;
      const stop = (reason: Error): void => context.stopped(reason);
      const remote = remoteOf(tool, context.remote);
      return answer(await door.tasks.start({ owner, begin: () => rounds, stop, remote }));
    };
    return callInRounds(door, request, { goOn, goOnWhen: isTheirs ? "remote" : "asked" });
  }
  const begun = begin(door, request, tool, undefined);
  return begun instanceof Promise ? begun.then(answer) : answer(begun);
}

/** MCP 2025-11-25, basic/utilities/tasks § Tool-Level Negotiation. */
function callAsTaskIfAsked(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
): JsonObject | Promise<JsonObject> | undefined {
  const { client, params, call } = request;
  if (params.task === undefined) {
    if (tool.task !== "required") return undefined;
    throw new RpcError(STANDARD.methodNotFound.code, `'${params.name}' must be called as a task`);
  }
  const answer = (task: Task): JsonObject => {
    call.state.tasks.add(task.id);
    return client.codec.shapeNewTask(task);
  };
  const begun = begin(door, request, tool, params.task.ttl);
  return begun instanceof Promise ? begun.then(answer) : answer(begun);
}

function begin(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
  ttl: unknown,
): Task | Promise<Task> {
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
    ...(tool.resume === undefined
      ? {}
      : { remote: context.untilRemote().then((taskId) => remoteOf(tool, taskId)) }),
  });
}

/** Where a task goes on when this process ends; undefined where it ends with it. */
function remoteOf(tool: Tool, taskId: string | undefined): RemoteTask | undefined {
  const { definition, source } = tool;
  if (taskId === undefined || source === undefined || tool.resume === undefined) return undefined;
  return { tool: definition.name, server: source.server, taskId };
}

/** Goes on with a task that a process has begun which has ended since. */
export function resume(
  door: McpDoor,
  { client, call }: McpRequest<unknown>,
): (remote: RemoteTask) => ResumedWork {
  return (remote) => {
    // The request that asks for the task is not the one that began it: its `_meta` says nothing of it.
    const context = door.contextOf({ client, call, params: undefined });
    context.becomeTask();
    context.detach();
    const begin = (): Rounds<JsonObject> =>
      new Rounds(async (ask: Ask) => {
        context.askThrough(ask);
        return client.codec.shapeToolResult(await door.offer.tools.resume(remote, context));
      });
    return { begin, stop: (reason) => context.stopped(reason) };
  };
}

/** Calls the tool, and shapes its answer for the client's revision. */
function run(
  door: McpDoor,
  { client, params }: CallRequest,
  context: McpToolContext,
): JsonObject | Promise<JsonObject> {
  const shape = (result: ToolResult): JsonObject | Promise<JsonObject> => {
    const answer = client.codec.shapeToolResult(result);
    // Some clients lose progress that arrives in one read with the answer.
    return context.hasProgressed ? turn().then(() => answer) : answer;
  };
  const result = door.offer.tools.call(params.name, params.arguments ?? {}, context);
  if (!(result instanceof Promise)) return shape(result);
  return result.then(shape, client.codec.has.missingCapabilityError ? undefined : tellTheModel);
}

function tellTheModel(error: unknown): JsonObject {
  if (error instanceof CannotAsk) return { ...errorResult(error.message) };
  return rethrow(error);
}

/** MCP 2025-11-25, basic/utilities/tasks § Associating Task-Related Messages. */
export function relatedTo(taskId: string): JsonObject {
  return { [META.relatedTask]: { taskId } };
}

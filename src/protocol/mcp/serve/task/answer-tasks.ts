import { STANDARD } from "../../../../rpc/codes.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import type { JsonObject } from "../../json-object.ts";
import {
  type McpDoor,
  type McpRequest,
  callInRounds,
  type CallRequest,
  mayAsk,
  run,
} from "../door.ts";
import { hasTasksExtension, TASKS_CAPABILITY } from "../../meta.ts";
import { pageOf } from "../list-result.ts";
import type { TaskParams } from "../../schema.gen.ts";
import type { KnownTask } from "./known-task.ts";
import type { RemoteTask, Tool } from "../../../../tool/tool.ts";
import { type Client, missingCapability } from "../connection.ts";
import type { ResumableRequest } from "../input-required.ts";
import { Rounds } from "../rounds.ts";
import type { QuestionSender } from "../tool-context.ts";
import { relatedTo, resultOf, type Task } from "./task.ts";
import type { ResumedWork } from "./tasks.ts";

/**
 * MCP 2025-11-25, basic/utilities/tasks § Task Isolation and Access Control: the id cannot be guessed,
 * and only the principal that began the task finds it, on any connection.
 */
export async function findTask(door: McpDoor, request: McpRequest<TaskParams>): Promise<KnownTask> {
  const { client, params, call } = request;
  requireTasks(client);
  return door.tasks.find(params.taskId, call.state.principal.id, async (remote) =>
    resumeTask(door, request, remote),
  );
}

/** The task, or undefined where it is not kept any more. */
export async function keptTask(
  door: McpDoor,
  id: string,
  principal: string,
): Promise<KnownTask | undefined> {
  try {
    return await door.tasks.find(id, principal);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

/** The tasks that were begun on this connection. */
export async function listTasks(
  door: McpDoor,
  { client, params, call }: McpRequest<{ readonly cursor?: string }>,
): Promise<JsonObject> {
  const { principal, tasks } = call.state;
  const { page, next } = pageOf([...tasks], params.cursor);
  const known = await Promise.all(page.map((id) => keptTask(door, id, principal.id)));
  return { tasks: known.flatMap((task) => (task ? [client.codec.shapeTask(task)] : [])), ...next };
}

/** Waits for the end. Questions of the task are sent meanwhile, on the stream of this request. */
export async function taskResult(
  door: McpDoor,
  request: McpRequest<TaskParams>,
): Promise<JsonObject> {
  const { call } = request;
  const task = await findTask(door, request);
  const asked = new Set<string>();
  while (!task.isOver && !call.signal.aborted) {
    for (const [key, question] of task.questions) {
      if (asked.has(key)) continue;
      asked.add(key);
      const params = { ...question.params, _meta: relatedTo(task.id) };
      call
        .request<JsonObject, unknown>({ name: question.method }, params)
        .then((answer) => task.give({ [key]: answer }))
        .catch(() => task.give({ [key]: { action: "cancel" } }));
    }
    await task.next(call.signal);
  }
  call.signal.throwIfAborted();
  return resultOf(task);
}

/** Begins a task for a call of which one is wanted, and answers with it. */
export async function beginTask(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
): Promise<JsonObject> {
  return request.client.codec.has.tasks === "server's choice"
    ? beginAsWeChoose(door, request, tool)
    : beginAsAsked(door, request, tool);
}

/** The tasks extension of MCP 2026-07-28: a client that declares it may be answered with a task. */
async function beginAsWeChoose(
  door: McpDoor,
  request: CallRequest,
  tool: Tool,
): Promise<JsonObject> {
  const { client, call } = request;
  requireTasks(client);
  const answer = (task: Task): JsonObject => client.codec.shapeNewTask(task);
  // With "if-asked" the upstream decides, and it has not been called yet.
  const isTheirs = tool.task === "if-asked";
  if (isTheirs || (tool.asksFirst === true && mayAsk(client))) {
    const goOn: ResumableRequest["goOn"] = async (rounds, context) => {
      context.isTask = true;
      const { id: owner } = call.state.principal;
      const stop = (reason: Error): void => context.stopped(reason);
      const remote = remoteOf(tool, context.remote);
      return answer(await door.tasks.start({ owner, begin: () => rounds, stop, remote }));
    };
    return callInRounds(door, request, { goOn, goOnWhen: isTheirs ? "remote" : "asked" });
  }
  return answer(await begin(door, request, tool, undefined));
}

/** MCP 2025-11-25, basic/utilities/tasks § Tool-Level Negotiation. */
async function beginAsAsked(door: McpDoor, request: CallRequest, tool: Tool): Promise<JsonObject> {
  const { client, params, call } = request;
  if (params.task === undefined) {
    throw new RpcError(STANDARD.methodNotFound.code, `'${params.name}' must be called as a task`);
  }
  const task = await begin(door, request, tool, params.task.ttl);
  call.state.tasks.add(task.id);
  return client.codec.shapeNewTask(task);
}

function begin(door: McpDoor, request: CallRequest, tool: Tool, ttl: unknown): Promise<Task> {
  const { call } = request;
  const context = door.contextOf(request);
  context.isTask = true;
  return door.tasks.start({
    owner: call.state.principal.id,
    begin: () => {
      return new Rounds((ask: QuestionSender) => {
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

/** The server on which a task continues when this process ends; undefined if it ends with it. */
function remoteOf(tool: Tool, taskId: string | undefined): RemoteTask | undefined {
  const { definition, source } = tool;
  if (taskId === undefined || source === undefined || tool.resume === undefined) return undefined;
  return { tool: definition.name, server: source.server, taskId };
}

/** Resumes a task whose process has ended. */
export function resumeTask(
  door: McpDoor,
  { client, call }: McpRequest<unknown>,
  remote: RemoteTask,
): ResumedWork {
  // The request that asks for the task is not the one that began it: its `_meta` says nothing of it.
  const context = door.contextOf({ client, call, params: undefined });
  context.isTask = true;
  context.detach();
  const begin = (): Rounds<JsonObject> =>
    new Rounds(async (ask: QuestionSender) => {
      context.askThrough(ask);
      return client.codec.shapeToolResult(await door.offer.tools.resume(remote, context));
    });
  return { begin, stop: (reason) => context.stopped(reason) };
}

export function requireTasks(client: Client): void {
  if (client.codec.has.tasks !== "server's choice") return;
  if (!hasTasksExtension(client.capabilities)) throw missingCapability(TASKS_CAPABILITY);
}

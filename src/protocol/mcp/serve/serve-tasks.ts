import { STANDARD } from "../../../rpc/codes.ts";
import { method } from "../../../rpc/method.ts";
import type { Peer } from "../../../rpc/peer.ts";
import type { Route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { type Client, missingCapability } from "./client.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { EVENTS, METHODS } from "../methods.ts";
import { hasTasksExtension, TASKS_CAPABILITY } from "../meta.ts";
import { pageOf } from "./list-result.ts";
import type { McpRequest } from "./request.ts";
import { relatedTo, resume } from "./serve-tools.ts";
import type { TaskParams } from "../schema.gen.ts";
import type { KnownTask } from "./task.ts";

/** Tasks, as 2025-11-25 has them and as the extension of 2026-07-28 does. */
export function serveTasks(door: McpDoor): Route<Connection>[] {
  const { routes } = door;
  return [
    routes.serve(METHODS.getTask, async (request) => {
      const task = await find(door, request);
      return request.client.codec.shapeTask(task);
    }),
    routes.serve(METHODS.cancelTask, async (request) => {
      return request.client.codec.cancelTask(await find(door, request));
    }),
    routes.serve(METHODS.updateTask, async (request) => {
      (await find(door, request)).give(request.params.inputResponses);
      return {};
    }),
    routes.serve(METHODS.listTasks, async ({ client, params, call }) => {
      const { principal, tasks } = call.state;
      const { page, next } = pageOf([...tasks], params.cursor);
      const known = await Promise.all(page.map((id) => keptTask(door, id, principal.id)));
      const told = known.flatMap((task) => (task ? [client.codec.shapeTask(task)] : []));
      return { tasks: told, ...next };
    }),
    routes.serve(METHODS.taskResult, async (request) => result(await find(door, request), request)),
  ];
}

/**
 * Tells the client of a session when the status of a task changes that it began there. Clients
 * without sessions listen for that (`subscriptions/listen`). Returns how to stop it.
 */
export function tellOfTasks(
  door: McpDoor,
  connection: Connection,
  peer: Peer<Connection>,
): () => void {
  return door.tasks.onChange((task) => {
    if (!connection.tasks.has(task.id)) return;
    peer.notify(EVENTS.taskStatus, connection.client.codec.shapeTask(task));
  });
}

/**
 * MCP 2025-11-25, basic/utilities/tasks § Task Isolation and Access Control: the id cannot be guessed,
 * and only the principal that began the task finds it, on any connection.
 */
async function find(door: McpDoor, request: McpRequest<TaskParams>): Promise<KnownTask> {
  const { client, params, call } = request;
  requireTasks(client);
  return door.tasks.find(params.taskId, call.state.principal.id, resume(door, request));
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

export function requireTasks(client: Client): void {
  if (client.codec.has.tasks !== "server's choice") return;
  if (!hasTasksExtension(client.capabilities)) throw missingCapability(TASKS_CAPABILITY);
}

/** Waits for the end. Questions of the task are sent meanwhile, on the stream of this request. */
async function result(task: KnownTask, { call }: McpRequest<TaskParams>): Promise<JsonObject> {
  const asked = new Set<string>();
  while (!task.isOver && !call.signal.aborted) {
    for (const [key, question] of task.questions) {
      if (asked.has(key)) continue;
      asked.add(key);
      const params = { ...question.params, _meta: relatedTo(task.id) };
      call
        .request(method<JsonObject, unknown>(question.method), params)
        .then((answer) => task.give({ [key]: answer }))
        .catch(() => task.give({ [key]: { action: "cancel" } }));
    }
    await task.next(call.signal);
  }
  if (task.status === "cancelled") throw RpcError.of(STANDARD.internal, "the task was cancelled");
  if (task.error !== undefined) {
    throw new RpcError(task.error.code, task.error.message, task.error.data);
  }
  const meta = { ...(task.result?._meta as JsonObject | undefined), ...relatedTo(task.id) };
  return { ...task.result, _meta: meta };
}

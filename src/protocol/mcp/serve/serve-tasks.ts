import { STANDARD } from "../../../rpc/codes.ts";
import { method } from "../../../rpc/method.ts";
import type { Peer } from "../../../rpc/peer.ts";
import type { Route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { type Client, hasTasks, isModern, type JsonObject, missingCapability } from "./client.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { EVENTS, METHODS } from "../methods.ts";
import { TASKS_EXTENSION } from "../names.ts";
import { pageOf } from "./page.ts";
import type { McpRequest } from "./request.ts";
import { relatedTo } from "./serve-tools.ts";
import type { TaskParams } from "../schema.gen.ts";
import type { KnownTask } from "./task.ts";
import { detailedTask, legacyTask } from "./tasks.ts";

/** Tasks, as 2025-11-25 has them and as the extension of 2026-07-28 does. */
export function serveTasks(door: McpDoor): Route<Connection>[] {
  const { routes } = door;
  return [
    routes.serve(METHODS.getTask, async (request) => {
      const task = await find(door, request);
      return isModern(request.client) ? detailedTask(task) : legacyTask(task);
    }),
    routes.serve(METHODS.cancelTask, async (request) => {
      const task = await find(door, request);
      if (isModern(request.client)) {
        task.cancel();
        return {};
      }
      if (task.isOver) {
        const why = `task '${task.id}' is ${task.status} and cannot be cancelled`;
        throw RpcError.of(STANDARD.invalidParams, why);
      }
      task.cancel();
      return legacyTask(task);
    }),
    routes.serve(
      METHODS.updateTask,
      async (request) => {
        (await find(door, request)).give(request.params.inputResponses);
        return {};
      },
      { eras: "modern" },
    ),
    routes.serve(
      METHODS.listTasks,
      async ({ params, call }) => {
        const { principal, tasks } = call.state;
        const { page, next } = pageOf([...tasks], params.cursor);
        const known = await Promise.all(page.map((id) => keptTask(door, id, principal.id)));
        return { tasks: known.flatMap((task) => (task ? [legacyTask(task)] : [])), ...next };
      },
      { eras: "legacy" },
    ),
    routes.serve(
      METHODS.taskResult,
      async (request) => result(await find(door, request), request),
      { eras: "legacy" },
    ),
  ];
}

/**
 * Tells a client that has shaken hands how the tasks get on that it began; from 2026-07-28 on it
 * listens for that. Returns how to stop it.
 */
export function tellOfTasks(
  door: McpDoor,
  connection: Connection,
  peer: Peer<Connection>,
): () => void {
  return door.tasks.onChange((task) => {
    if (connection.tasks.has(task.id)) peer.notify(EVENTS.taskStatus, legacyTask(task));
  });
}

/** By its id, which nobody can guess, and for its principal alone, on whichever connection. */
async function find(
  door: McpDoor,
  { client, params, call }: McpRequest<TaskParams>,
): Promise<KnownTask> {
  requireTasks(client);
  return door.tasks.find(params.taskId, call.state.principal.id);
}

/** The task where it is still kept. */
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
  if (!isModern(client) || hasTasks(client)) return;
  throw missingCapability({ extensions: { [TASKS_EXTENSION]: {} } });
}

/** Waits for the end. What the task needs to know is asked meanwhile, on the same stream. */
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

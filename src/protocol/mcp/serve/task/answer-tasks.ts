import { TRUNKLINE } from "../../../../rpc/codes.ts";
import { method } from "../../../../rpc/method.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import type { JsonObject } from "../../json-object.ts";
import type { McpDoor, McpRequest } from "../door.ts";
import { META } from "../../meta.ts";
import { pageOf } from "../list-result.ts";
import type { TaskParams } from "../../schema.gen.ts";
import { requireTasks, resumeTask } from "./begin-task.ts";
import type { KnownTask } from "./task-record.ts";

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
  const told = known.flatMap((task) => (task ? [client.codec.shapeTask(task)] : []));
  return { tasks: told, ...next };
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
        .request(method<JsonObject, unknown>(question.method), params)
        .then((answer) => task.give({ [key]: answer }))
        .catch(() => task.give({ [key]: { action: "cancel" } }));
    }
    await task.next(call.signal);
  }
  if (task.status === "cancelled") throw RpcError.of(TRUNKLINE.closed, "the task was cancelled");
  if (task.error !== undefined) {
    throw new RpcError(task.error.code, task.error.message, task.error.data);
  }
  const meta = { ...(task.result?._meta as JsonObject | undefined), ...relatedTo(task.id) };
  return { ...task.result, _meta: meta };
}

/** MCP 2025-11-25, basic/utilities/tasks § Associating Task-Related Messages. */
function relatedTo(taskId: string): JsonObject {
  return { [META.relatedTask]: { taskId } };
}

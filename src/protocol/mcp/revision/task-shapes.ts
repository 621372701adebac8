import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import type { KnownTask } from "../serve/task/known-task.ts";
import type { Codec } from "./codec.ts";

/** Milliseconds after which clients should look at a task again. */
const POLL_INTERVAL = 500;

type TaskShapes = Pick<
  Codec,
  "shapeNewTask" | "shapeTask" | "cancelTask" | "taskParams" | "isTask"
>;

/** MCP 2025-11-25, basic/utilities/tasks: the client asks for a task. */
export const CORE_TASKS: TaskShapes = {
  shapeNewTask: (task) => ({ task: shapeCoreTask(task) }),
  shapeTask: shapeCoreTask,
  cancelTask(task) {
    // § Task Cancellation: a task that has reached a terminal status is refused with -32602.
    if (task.isOver) {
      const why = `task '${task.id}' is ${task.status} and cannot be cancelled`;
      throw RpcError.of(STANDARD.invalidParams, why);
    }
    task.cancel();
    return shapeCoreTask(task);
  },
  taskParams: { task: {} },
  // Only a client that asked for a task is answered with one.
  isTask: (params) => params.task !== undefined,
};

/** The tasks extension of MCP 2026-07-28: the server decides that a call goes on as a task. */
export const EXTENSION_TASKS: TaskShapes = {
  shapeNewTask: (task) => ({ ...briefTask(task), resultType: "task" }),
  shapeTask: detailedTask,
  cancelTask(task) {
    task.cancel();
    return {};
  },
  taskParams: {},
  isTask: (_, result) => result.resultType === "task",
};

/** § Task Execution Errors: the task of a tool that answered with `isError` has failed. */
function shapeCoreTask(task: KnownTask): JsonObject {
  const status =
    task.status === "completed" && task.result?.isError === true ? "failed" : task.status;
  return { ...common(task), status, ttl: task.ttl, pollInterval: POLL_INTERVAL };
}

function briefTask(task: KnownTask): JsonObject {
  return { ...common(task), status: task.status, ttlMs: task.ttl, pollIntervalMs: POLL_INTERVAL };
}

/** With its result, its error or its questions. */
function detailedTask(task: KnownTask): JsonObject {
  const base = briefTask(task);
  switch (task.status) {
    case "completed":
      return { ...base, result: { resultType: "complete", ...task.result } };
    case "failed":
      return { ...base, error: task.error };
    case "input_required": {
      const questions = Array.from(task.questions, ([key, { method, params = {} }]) => [
        key,
        { method, params },
      ]);
      return { ...base, inputRequests: Object.fromEntries(questions) as JsonObject };
    }
    case "working":
    case "cancelled":
      return base;
  }
}

function common({ id, createdAt, lastUpdatedAt, error }: KnownTask): JsonObject {
  const why = error === undefined ? {} : { statusMessage: error.message };
  return { taskId: id, createdAt, lastUpdatedAt, ...why };
}

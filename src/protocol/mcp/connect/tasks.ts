import { STANDARD, TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { refusalOf } from "./questions.ts";
import { META } from "../meta.ts";

const TTL = 10 * 60_000;
const LONGEST_TTL = 60 * 60_000;
const POLL_INTERVAL = 250;
const MOST = 1_000;

interface QuestionTask {
  readonly id: string;
  readonly createdAt: string;
  readonly ttl: number;
  readonly done: Promise<JsonObject>;
  status: "working" | "completed" | "failed" | "cancelled";
  lastUpdatedAt: string;
}

/**
 * Questions that a server of 2025-11-25 asks as tasks (MCP 2025-11-25, basic/utilities/tasks § Client
 * Capabilities): it gets a task at once, and fetches the answer later.
 */
export class ClientTasks {
  readonly #tasks = new Map<string, QuestionTask>();

  /** Begins one, and describes it. */
  begin(answer: Promise<JsonObject>, ttl: unknown): JsonObject {
    if (this.#tasks.size >= MOST) throw RpcError.of(TRUNKLINE.busy, "too many tasks");
    const now = new Date().toISOString();
    const kept = typeof ttl === "number" && ttl > 0 ? Math.min(ttl, LONGEST_TTL) : TTL;
    const task: QuestionTask = {
      id: crypto.randomUUID(),
      createdAt: now,
      ttl: kept,
      done: answer,
      status: "working",
      lastUpdatedAt: now,
    };
    this.#tasks.set(task.id, task);
    setTimeout(() => this.#tasks.delete(task.id), kept).unref();
    answer.then(
      () => become(task, "completed"),
      () => become(task, "failed"),
    );
    return { task: describe(task) };
  }

  get(params: JsonObject): JsonObject {
    return describe(this.#find(params));
  }

  list(): JsonObject {
    return { tasks: Array.from(this.#tasks.values(), describe) };
  }

  /** Waits for the answer. */
  async result(params: JsonObject): Promise<JsonObject> {
    const task = this.#find(params);
    try {
      const result = await task.done;
      const meta = isObject(result._meta) ? result._meta : {};
      return { ...result, _meta: { ...meta, [META.relatedTask]: { taskId: task.id } } };
    } catch (error) {
      throw refusalOf(error);
    }
  }

  cancel(params: JsonObject): JsonObject {
    const task = this.#find(params);
    if (task.status !== "working") {
      throw RpcError.of(STANDARD.invalidParams, `task '${task.id}' is ${task.status}`);
    }
    become(task, "cancelled");
    return describe(task);
  }

  #find({ taskId }: JsonObject): QuestionTask {
    const task = this.#tasks.get(taskId as string);
    if (task !== undefined) return task;
    throw RpcError.of(STANDARD.invalidParams, `no task has the id '${String(taskId)}'`);
  }
}

function become(task: QuestionTask, status: QuestionTask["status"]): void {
  if (task.status !== "working") return;
  task.status = status;
  task.lastUpdatedAt = new Date().toISOString();
}

function describe({ id, status, createdAt, lastUpdatedAt, ttl }: QuestionTask): JsonObject {
  return { taskId: id, status, createdAt, lastUpdatedAt, ttl, pollInterval: POLL_INTERVAL };
}

import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { JsonObject } from "./client.ts";
import type { Rounds } from "./rounds.ts";
import { Task } from "./task.ts";

/** How long a task is kept when nobody says. */
const TTL = 5 * 60_000;
const LONGEST_TTL = 24 * 60 * 60_000;
const POLL_INTERVAL = 500;
const MOST = 10_000;

/** The tasks of a door: one store, told in two ways. Each is there for the principal who began it. */
export class Tasks {
  readonly #tasks = new Map<string, { readonly task: Task; readonly owner: string }>();
  readonly #listeners = new Set<(task: Task) => void>();

  /** Takes work in as a task. `stop` ends it before its time. */
  start(
    owner: string,
    rounds: Rounds<JsonObject>,
    stop: (reason: Error) => void,
    ttl?: unknown,
  ): Task {
    if (this.#tasks.size >= MOST) throw RpcError.of(STANDARD.internal, "too many tasks");
    const kept = typeof ttl === "number" && ttl > 0 ? Math.min(ttl, LONGEST_TTL) : TTL;
    const task = new Task(rounds, stop, kept, (changed) => {
      for (const listener of this.#listeners) listener(changed);
    });
    this.#tasks.set(task.id, { task, owner });
    setTimeout(() => {
      task.cancel();
      this.#tasks.delete(task.id);
    }, kept).unref();
    return task;
  }

  get(id: string, owner: string): Task {
    const known = this.#tasks.get(id);
    if (known?.owner !== owner) {
      throw RpcError.of(STANDARD.invalidParams, `no task has the id '${id}'`);
    }
    return known.task;
  }

  has(id: string, owner: string): boolean {
    return this.#tasks.get(id)?.owner === owner;
  }

  /** Cancels and forgets what somebody has begun who is no longer let in. */
  endOf(owner: string): void {
    for (const [id, { task, owner: of }] of this.#tasks) {
      if (of !== owner) continue;
      task.cancel();
      this.#tasks.delete(id);
    }
  }

  onChange(listener: (task: Task) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** A task as 2025-11-25 tells it: there a failed tool is a failed task. */
export function legacyTask(task: Task): JsonObject {
  const status =
    task.status === "completed" && task.result?.isError === true ? "failed" : task.status;
  return { ...common(task), status, ttl: task.ttl, pollInterval: POLL_INTERVAL };
}

/** A task as the extension of 2026-07-28 tells it when it is begun. */
export function modernTask(task: Task): JsonObject {
  return { ...common(task), status: task.status, ttlMs: task.ttl, pollIntervalMs: POLL_INTERVAL };
}

/** The same with what has become of it. */
export function detailedTask(task: Task): JsonObject {
  const base = modernTask(task);
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

function common({ id, createdAt, lastUpdatedAt, error }: Task): JsonObject {
  const why = error === undefined ? {} : { statusMessage: error.message };
  return { taskId: id, createdAt, lastUpdatedAt, ...why };
}

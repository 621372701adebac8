import { TRUNKLINE } from "../../../../rpc/codes.ts";
import { RpcError, toRpcError } from "../../../../rpc/rpc-error.ts";
import { CannotAsk, type Question, ToolFault } from "../../../../tool/tool.ts";
import { missingCapability } from "../connection.ts";
import type { JsonObject } from "../../json-object.ts";
import { META } from "../../meta.ts";
import { neededFor } from "../question.ts";
import type { Rounds } from "../rounds.ts";
import type { TaskError, TaskRecord, TaskStatus } from "../../../../tool/task-record.ts";
import { isOver, type KnownTask } from "./known-task.ts";

export interface TaskOptions {
  readonly id: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly ttl: number | null;
  readonly rounds: Rounds<JsonObject>;
  /** Stops the work. */
  readonly stop: (reason: Error) => void;
  /** Resolves when the outcome is stored, or cannot be stored. */
  readonly store: (record: TaskRecord) => Promise<void> | undefined;
  readonly changed: (task: Task) => void;
}

/** A call that was answered with a task, and goes on in this process. */
export class Task implements KnownTask {
  readonly id: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly ttl: number | null;
  readonly #options: TaskOptions;
  readonly #waiters = new Set<() => void>();
  lastUpdatedAt: string;
  status: TaskStatus = "working";
  result: JsonObject | undefined;
  error: TaskError | undefined;

  constructor(options: TaskOptions) {
    const { id, owner, createdAt, ttl } = options;
    this.id = id;
    this.owner = owner;
    this.createdAt = this.lastUpdatedAt = createdAt;
    this.ttl = ttl;
    this.#options = options;
    this.#follow().catch((error: unknown) => this.#end("failed", { error: errorOf(error) }));
  }

  get isOver(): boolean {
    return isOver(this.status);
  }

  get questions(): ReadonlyMap<string, Question> {
    return this.#options.rounds.questions;
  }

  give(answers: JsonObject): void {
    this.#options.rounds.give(answers);
    if (this.status === "input_required" && this.questions.size === 0) this.#become("working");
  }

  cancel(): void {
    if (this.isOver) return;
    const reason = new Error("The task was cancelled");
    this.#become("cancelled");
    this.#options.stop(reason);
    this.#options.rounds.abandon(reason);
    this.#options.store(this.#record({ status: "cancelled" }))?.catch(() => {});
  }

  next(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiters.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }

  async #follow(): Promise<void> {
    for (;;) {
      const pause = await this.#options.rounds.pause();
      if (this.isOver) return;
      if (pause.kind === "done") {
        await this.#end("completed", { result: pause.result });
        return;
      }
      this.#become("input_required");
      await this.next();
      if (this.isOver) return;
    }
  }

  /** Stores the outcome before clients are notified, so that it outlives the process. */
  async #end(
    status: TaskStatus,
    outcome: { readonly result?: JsonObject; readonly error?: TaskError },
  ): Promise<void> {
    if (this.isOver) return;
    await this.#options.store(this.#record({ status, ...outcome }));
    if (this.isOver) return;
    this.result = outcome.result;
    this.error = outcome.error;
    this.#become(status);
  }

  #become(status: TaskStatus): void {
    if (this.isOver) return;
    this.status = status;
    this.lastUpdatedAt = new Date().toISOString();
    for (const wake of [...this.#waiters]) wake();
    this.#options.changed(this);
  }

  #record(change: Pick<TaskRecord, "status" | "result" | "error">): TaskRecord {
    const { id, owner, createdAt, ttl } = this;
    return { id, owner, createdAt, ttl, lastUpdatedAt: new Date().toISOString(), ...change };
  }
}

/** What `tasks/result` is answered with, once the task is over. Throws the error that it failed with. */
export async function resultOf(task: KnownTask): Promise<JsonObject> {
  while (!task.isOver) await task.next();
  if (task.status === "cancelled") throw RpcError.of(TRUNKLINE.closed, "the task was cancelled");
  if (task.error !== undefined) {
    throw new RpcError(task.error.code, task.error.message, task.error.data);
  }
  const meta = { ...(task.result?._meta as JsonObject | undefined), ...relatedTo(task.id) };
  return { ...task.result, _meta: meta };
}

/** MCP 2025-11-25, basic/utilities/tasks § Associating Task-Related Messages. */
export function relatedTo(taskId: string): JsonObject {
  return { [META.relatedTask]: { taskId } };
}

/** A task that could not ask its client fails with -32021 (MCP 2026-07-28). */
function errorOf(error: unknown): TaskError {
  if (error instanceof CannotAsk) return errorOf(missingCapability(neededFor(error.question)));
  if (error instanceof RpcError || error instanceof ToolFault) {
    const { code, message, data } = error;
    return data === undefined ? { code, message } : { code, message, data };
  }
  const { code, message } = toRpcError(error, () => {});
  return { code, message };
}

import { RpcError } from "../../rpc/rpc-error.ts";
import { CannotAsk, type Question, ToolFault } from "../../tool/tool.ts";
import { type JsonObject, missingCapability } from "./client.ts";
import { neededFor } from "./question.ts";
import type { Rounds } from "./rounds.ts";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A call that was answered with a promise, and goes on. */
export class Task {
  readonly id = crypto.randomUUID();
  readonly createdAt = new Date().toISOString();
  readonly ttl: number;
  readonly #stop: (reason: Error) => void;
  readonly #rounds: Rounds<JsonObject>;
  readonly #changed: (task: Task) => void;
  readonly #waiters = new Set<() => void>();
  lastUpdatedAt = this.createdAt;
  status: TaskStatus = "working";
  result: JsonObject | undefined;
  error: TaskError | undefined;

  /** `stop` ends the work where nothing else does. */
  constructor(
    rounds: Rounds<JsonObject>,
    stop: (reason: Error) => void,
    ttl: number,
    changed: (task: Task) => void,
  ) {
    this.ttl = ttl;
    this.#rounds = rounds;
    this.#stop = stop;
    this.#changed = changed;
    void this.#follow();
  }

  get isOver(): boolean {
    return this.status !== "working" && this.status !== "input_required";
  }

  /** What it waits to be told, by key. */
  get questions(): ReadonlyMap<string, Question> {
    return this.#rounds.questions;
  }

  give(answers: JsonObject): void {
    this.#rounds.give(answers);
    if (this.status === "input_required" && this.questions.size === 0) this.#become("working");
  }

  cancel(): void {
    if (this.isOver) return;
    const reason = new Error("The task was cancelled");
    this.#become("cancelled");
    this.#stop(reason);
    this.#rounds.abandon(reason);
  }

  /** Resolves at the next change of the status. */
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
    try {
      for (;;) {
        const pause = await this.#rounds.pause();
        if (this.isOver) return;
        if (pause.kind === "done") {
          this.result = pause.result;
          this.#become("completed");
          return;
        }
        this.#become("input_required");
        await this.next();
        if (this.isOver) return;
      }
    } catch (error) {
      if (this.isOver) return;
      this.error = errorOf(error);
      this.#become("failed");
    }
  }

  #become(status: TaskStatus): void {
    if (this.isOver) return;
    this.status = status;
    this.lastUpdatedAt = new Date().toISOString();
    for (const wake of [...this.#waiters]) wake();
    this.#changed(this);
  }
}

/** That the client cannot be asked is an error from 2026-07-28 on; before, the model is told. */
function errorOf(error: unknown): TaskError {
  if (error instanceof CannotAsk) return errorOf(missingCapability(neededFor(error.question)));
  if (error instanceof RpcError || error instanceof ToolFault) {
    const { code, message, data } = error;
    return data === undefined ? { code, message } : { code, message, data };
  }
  return { code: -32603, message: "Internal error" };
}

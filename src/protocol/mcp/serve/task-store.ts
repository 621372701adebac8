import type { JsonObject } from "../json-object.ts";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What is known of a task, whoever works on it. */
export interface TaskRecord {
  readonly id: string;
  /** The principal who began it. */
  readonly owner: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation that its client wants it kept; null where it did not say. */
  readonly ttl: number | null;
  readonly status: TaskStatus;
  readonly result?: JsonObject | undefined;
  readonly error?: TaskError | undefined;
}

/** Where tasks are kept, so that they outlive the process that works on them. */
export interface TaskStore {
  /** Resolves when the task is on disk. It is this process's to work on. */
  begin(task: TaskRecord): Promise<void>;
  /** Resolves when what became of the task is on disk. */
  end(task: TaskRecord): Promise<void>;
  /** A task that is kept. One whose process died while it worked has failed. */
  find(id: string): Promise<TaskRecord | undefined>;
}

export function isOver(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

import type { RemoteTask } from "./tool.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The record of a task (MCP 2025-11-25, basic/utilities/tasks), whichever process works on it. */
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
  /** The task of another server that goes on when our process ends. */
  readonly remote?: RemoteTask | undefined;
  /** Not stored: the process that ran it has ended, and it goes on at another server. */
  readonly isLost?: true;
}

/** Where tasks are kept, so that they outlive the process that works on them. */
export interface TaskStore {
  /** Resolves when the task is on disk. It is this process's to work on. */
  begin(task: TaskRecord): Promise<void>;
  /** Resolves when the outcome is on disk. */
  end(task: TaskRecord): Promise<void>;
  /** Resolves when the task of the other server is on disk. */
  goesOn(id: string, remote: RemoteTask): Promise<void>;
  /** Makes a lost task this process's to work on. False where another process was faster. */
  adopt(id: string): Promise<boolean>;
  /** A task that is kept. One whose process died while it worked has failed, unless it goes on elsewhere. */
  find(id: string): Promise<TaskRecord | undefined>;
}

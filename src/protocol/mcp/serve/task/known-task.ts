import type { TaskRecord, TaskStatus } from "../../../../tool/task-record.ts";
import type { Question } from "../../../../tool/tool.ts";
import type { JsonObject } from "../../json-object.ts";

export function isOver(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

/** A task, whether this process runs it or another one. */
export interface KnownTask extends TaskRecord {
  readonly isOver: boolean;
  /** Its open questions, by key. */
  readonly questions: ReadonlyMap<string, Question>;
  give(answers: JsonObject): void;
  cancel(): void;
  /** Resolves when its status may have changed. */
  next(signal?: AbortSignal): Promise<void>;
}

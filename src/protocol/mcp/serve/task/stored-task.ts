import { setTimeout as delay } from "node:timers/promises";

import { TRUNKLINE } from "../../../../rpc/codes.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import type { Question } from "../../../../tool/tool.ts";
import type { JsonObject } from "../../json-object.ts";
import {
  type KnownTask,
  isOver,
  type TaskError,
  type TaskRecord,
  type TaskStatus,
} from "./task-record.ts";

/** Milliseconds between two reads of a task that another process runs. */
const LOOK_EVERY = 500;

const NONE: ReadonlyMap<string, Question> = new Map();

/** A task that another process runs or ran, known from the store. */
export class StoredTask implements KnownTask {
  readonly id: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly ttl: number | null;
  readonly questions = NONE;
  readonly #find: () => Promise<TaskRecord | undefined>;
  #record: TaskRecord;

  constructor(record: TaskRecord, find: () => Promise<TaskRecord | undefined>) {
    this.id = record.id;
    this.owner = record.owner;
    this.createdAt = record.createdAt;
    this.ttl = record.ttl;
    this.#record = record;
    this.#find = find;
  }

  get lastUpdatedAt(): string {
    return this.#record.lastUpdatedAt;
  }

  get status(): TaskStatus {
    return this.#record.status;
  }

  get result(): JsonObject | undefined {
    return this.#record.result;
  }

  get error(): TaskError | undefined {
    return this.#record.error;
  }

  get isOver(): boolean {
    return isOver(this.status);
  }

  give(): void {
    this.#mustBeOver("answered");
  }

  cancel(): void {
    this.#mustBeOver("cancelled");
  }

  async next(signal?: AbortSignal): Promise<void> {
    await delay(LOOK_EVERY, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    this.#record = (await this.#find()) ?? this.#record;
  }

  #mustBeOver(what: string): void {
    if (this.isOver) return;
    const why = `task '${this.id}' cannot be ${what} here: another process of Trunkline works on it`;
    throw RpcError.of(TRUNKLINE.unavailable, why);
  }
}

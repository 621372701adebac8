import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import type { Rounds } from "./rounds.ts";
import { type KnownTask, Task, type TaskRecord, type TaskStore } from "./task.ts";

/** How long what a task came to is kept here, where it cannot be stored. */
const KEPT = 5 * 60_000;
const LONGEST_TTL = 24 * 60 * 60_000;
const MOST = 10_000;

export interface NewTask {
  readonly owner: string;
  /** Begins the work, or hands over what has begun. */
  readonly begin: () => Rounds<JsonObject>;
  /** Ends it before its time. */
  readonly stop: (reason: Error) => void;
  /** Milliseconds that its client gives it. Without them it may take as long as it takes. */
  readonly ttl?: unknown;
}

export interface TasksOptions {
  /** Without it, tasks are forgotten when the process ends. */
  readonly store?: TaskStore | undefined;
  readonly report?: ((event: string, fields: Record<string, unknown>) => void) | undefined;
}

/** The tasks of a door: one store, told in two ways. Each is there for the principal who began it. */
export class Tasks {
  readonly #options: TasksOptions;
  /** Those that are worked on, and those that could not be stored. */
  readonly #tasks = new Map<string, Task>();
  readonly #listeners = new Set<(task: Task) => void>();

  constructor(options: TasksOptions = {}) {
    this.#options = options;
  }

  /** Takes work in as a task. It is stored before it begins: a promise is kept. */
  start(work: NewTask): Task | Promise<Task> {
    if (this.#tasks.size >= MOST) throw RpcError.of(STANDARD.internal, "too many tasks");
    const { owner, ttl } = work;
    const now = new Date().toISOString();
    const record: TaskRecord = {
      id: crypto.randomUUID(),
      owner,
      createdAt: now,
      lastUpdatedAt: now,
      ttl: typeof ttl === "number" && ttl > 0 ? Math.min(ttl, LONGEST_TTL) : null,
      status: "working",
    };
    const stored = this.#options.store?.begin(record);
    return stored === undefined
      ? this.#begin(record, work)
      : stored.then(() => this.#begin(record, work));
  }

  /** A task of a principal, wherever it is worked on. */
  find(id: string, owner: string): KnownTask | Promise<KnownTask> {
    const task = this.#tasks.get(id);
    if (task !== undefined) return theirs(id, owner, task);
    return this.#findStored(id, owner);
  }

  /** Cancels what somebody has begun who is no longer let in. */
  endOf(owner: string): void {
    for (const task of this.#tasks.values()) {
      if (task.owner === owner) task.cancel();
    }
  }

  onChange(listener: (task: Task) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #begin(record: TaskRecord, { begin, stop }: NewTask): Task {
    const { id, owner, createdAt, ttl } = record;
    const task = new Task({
      id,
      owner,
      createdAt,
      ttl,
      rounds: begin(),
      stop,
      store: (ended) => this.#store(ended),
      changed: (changed) => {
        for (const listener of this.#listeners) listener(changed);
      },
    });
    this.#tasks.set(id, task);
    if (ttl !== null) {
      setTimeout(() => {
        task.cancel();
        this.#tasks.delete(id);
      }, ttl).unref();
    }
    return task;
  }

  async #findStored(id: string, owner: string): Promise<KnownTask> {
    const find = async () => this.#options.store?.find(id);
    const record = await find();
    if (record === undefined) return theirs(id, owner, undefined);
    const { StoredTask } = await import("./stored-task.ts");
    return theirs(id, owner, new StoredTask(record, find));
  }

  /** What is stored need not be kept here; what is not is kept for a while. */
  async #store(ended: TaskRecord): Promise<void> {
    const { store, report } = this.#options;
    let kept = KEPT;
    try {
      await store?.end(ended);
      if (store !== undefined) kept = 0;
    } catch (error) {
      report?.("task.not-stored", { task: ended.id, error });
    }
    setTimeout(() => this.#tasks.delete(ended.id), kept).unref();
  }
}

function theirs(id: string, owner: string, task: KnownTask | undefined): KnownTask {
  if (task?.owner === owner) return task;
  throw RpcError.of(STANDARD.invalidParams, `no task has the id '${id}'`);
}

import { STANDARD, TRUNKLINE } from "../../../../rpc/codes.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import type { RemoteTask, Question } from "../../../../tool/tool.ts";
import type { JsonObject } from "../../json-object.ts";
import type { Rounds } from "../rounds.ts";
import type { TaskRecord, TaskStore } from "../../../../tool/task-record.ts";
import { type KnownTask, isOver } from "./known-task.ts";
import { Task } from "./task.ts";
import { setTimeout as delay } from "node:timers/promises";

/** The work of a task. */
export interface ResumedWork {
  /** Starts the work, or returns work that has started. */
  readonly begin: () => Rounds<JsonObject>;
  /** Ends it before its time. */
  readonly stop: (reason: Error) => void;
}

export interface NewTask extends ResumedWork {
  readonly owner: string;
  /** Where it goes on when this process ends. A promise may never be settled. */
  readonly remote?: RemoteTask | undefined | Promise<RemoteTask | undefined>;
  /** Milliseconds that the client gives the task; no limit when left out. */
  readonly ttl?: unknown;
}

export interface TasksOptions {
  /** Without it, tasks are forgotten when the process ends. */
  readonly store?: (() => Promise<TaskStore>) | undefined;
  readonly report?: ((event: string, fields: Record<string, unknown>) => void) | undefined;
}

/** Milliseconds for which the outcome of a task is kept in memory where it cannot be stored. */
const KEPT = 5 * 60_000;
const LONGEST_TTL = 24 * 60 * 60_000;
const MOST = 10_000;

/** The tasks of a door, for both forms of tasks. Each is visible to its principal alone. */
export class Tasks {
  readonly #options: TasksOptions;
  /** Tasks that run here, and those that could not be stored. */
  readonly #tasks = new Map<string, Task>();
  readonly #listeners = new Set<(task: Task) => void>();

  constructor(options: TasksOptions = {}) {
    this.#options = options;
  }

  /** Calls back when the status of a task changes that runs here. Returns how to stop it. */
  onChange(listener: (task: Task) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Creates a task. It is stored before it begins, since the client is promised to find it. */
  async start(work: NewTask): Promise<Task> {
    if (this.#tasks.size >= MOST) throw RpcError.of(TRUNKLINE.busy, "too many tasks");
    const { owner, ttl, remote } = work;
    const now = new Date().toISOString();
    const record: TaskRecord = {
      id: crypto.randomUUID(),
      owner,
      createdAt: now,
      lastUpdatedAt: now,
      ttl: typeof ttl === "number" && ttl > 0 ? Math.min(ttl, LONGEST_TTL) : null,
      status: "working",
      ...(remote instanceof Promise ? {} : { remote }),
    };
    await (await this.#options.store?.())?.begin(record);
    return this.#begin(record, work);
  }

  /**
   * Finds a task of a principal, whichever process runs it. One that goes on elsewhere although its
   * process has ended is taken over where `resume` says how.
   */
  async find(
    id: string,
    owner: string,
    resume?: (remote: RemoteTask) => Promise<ResumedWork>,
  ): Promise<KnownTask> {
    const running = this.#tasks.get(id);
    if (running !== undefined) return theirs(id, owner, running);
    const store = await this.#options.store?.();
    const find = async () => store?.find(id);
    const record = await find();
    if (record?.owner !== owner) return theirs(id, owner, undefined);
    if (record.isLost === true && record.remote !== undefined && resume !== undefined) {
      const work = (await store?.adopt(id)) === true ? await resume(record.remote) : undefined;
      const task = work === undefined ? undefined : this.#begin(record, work);
      const found = task ?? this.#tasks.get(id);
      if (found !== undefined) return found;
    }
    return theirs(id, owner, storedTask(record, find));
  }

  /** The tasks of a principal that are in memory. */
  of(owner: string): Task[] {
    return [...this.#tasks.values()].filter((task) => task.owner === owner);
  }

  /** Cancels the tasks of a principal whose access was revoked. */
  endOf(owner: string): void {
    for (const task of this.of(owner)) task.cancel();
  }

  #begin(record: TaskRecord, { begin, stop, remote }: Omit<NewTask, "owner">): Task {
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
    if (remote instanceof Promise) {
      const { store, report } = this.#options;
      remote
        .then(async (known) => known && (await store?.())?.goesOn(id, known))
        .catch((error: unknown) => report?.("task.not-stored", { task: id, error }));
    }
    if (ttl !== null) {
      const left = Math.max(0, Date.parse(createdAt) + ttl - Date.now());
      // By its id: the timer of a task that is over must not keep its result for all that time.
      setTimeout(() => {
        this.#tasks.get(id)?.cancel();
        this.#tasks.delete(id);
      }, left).unref();
    }
    return task;
  }

  /** Drops a task that is stored; keeps one that could not be stored for a while. */
  async #store(ended: TaskRecord): Promise<void> {
    const { store, report } = this.#options;
    let kept = KEPT;
    try {
      await (await store?.())?.end(ended);
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

/** Milliseconds between two reads of a task that another process runs. */
const LOOK_EVERY = 500;

const NONE: ReadonlyMap<string, Question> = new Map();

/** A task that another process runs or ran, known from the store. */
function storedTask(record: TaskRecord, find: () => Promise<TaskRecord | undefined>): KnownTask {
  const mustBeOver = (what: string): void => {
    if (task.isOver) return;
    const why = `task '${task.id}' cannot be ${what} here: another process of Trunkline works on it`;
    throw RpcError.of(TRUNKLINE.unavailable, why);
  };
  const task: KnownTask = {
    ...record,
    questions: NONE,
    get isOver() {
      return isOver(task.status);
    },
    give: () => mustBeOver("answered"),
    cancel: () => mustBeOver("cancelled"),
    next: async (signal) => {
      await delay(LOOK_EVERY, undefined, signal === undefined ? {} : { signal }).catch(() => {});
      Object.assign(task, await find());
    },
  };
  return task;
}

import type { JsonObject } from "../../json-object.ts";
import type { RemoteTask } from "../../../../tool/tool.ts";
import type { Rounds } from "../rounds.ts";
import type { RunningTasks } from "./running-tasks.ts";
import type { KnownTask, TaskStore } from "./task-record.ts";
import type { Task } from "./task.ts";

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
  readonly store?: TaskStore | undefined;
  readonly report?: ((event: string, fields: Record<string, unknown>) => void) | undefined;
}

/** The tasks of a door, for both forms of tasks. Most clients have none: the code comes with the first. */
export class Tasks {
  readonly #options: TasksOptions;
  readonly #listeners = new Set<(task: Task) => void>();
  #loading: Promise<RunningTasks> | undefined;
  #running: RunningTasks | undefined;

  constructor(options: TasksOptions = {}) {
    this.#options = options;
  }

  /** Creates a task. It is stored before it begins, since the client is promised to find it. */
  async start(work: NewTask): Promise<Task> {
    return (await this.#load()).start(work);
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
    return (await this.#load()).find(id, owner, resume);
  }

  /** Cancels the tasks of a principal whose access was revoked. */
  endOf(owner: string): void {
    this.#running?.endOf(owner);
  }

  onChange(listener: (task: Task) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #load(): Promise<RunningTasks> {
    this.#loading ??= import("./running-tasks.ts").then(({ RunningTasks }) => {
      this.#running = new RunningTasks(this.#options, (task) => {
        for (const listener of this.#listeners) listener(task);
      });
      return this.#running;
    });
    return this.#loading;
  }
}

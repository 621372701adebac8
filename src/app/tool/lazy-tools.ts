import { Lazy } from "../../base/lazy.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { OpenedTools } from "./open-tools.ts";
import type { TaskRecord, TaskStore } from "../../protocol/mcp/serve/task/task-record.ts";
import type { TasksOptions } from "../../protocol/mcp/serve/task/tasks.ts";
import type { TaskRecords } from "../../store/task-records.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { RemoteTask } from "../../tool/tool.ts";

/** All tools, opened with the first request for one. */
export class LazyTools implements AsyncDisposable {
  readonly #tools: Lazy<OpenedTools>;

  constructor(app: AppContext) {
    this.#tools = new Lazy(async () => {
      const { openTools } = await import("./open-tools.ts");
      return openTools(app, { isLasting: true });
    });
  }

  readonly offer = async (): Promise<Offer> => (await this.#tools.get()).offer;

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#tools.opened())?.[Symbol.asyncDispose]();
  }
}

/** The tasks of a data folder, opened with the first that is begun or asked for. */
export class LazyTaskStore implements TaskStore, AsyncDisposable {
  readonly #records: Lazy<TaskRecords>;
  /** As a door takes them. */
  readonly options: TasksOptions;

  constructor({ config, report }: AppContext) {
    this.options = { store: this, report };
    this.#records = new Lazy(async () => {
      const { TaskRecords } = await import("../../store/task-records.ts");
      return TaskRecords.open(config.data);
    });
  }

  async begin(task: TaskRecord): Promise<void> {
    await (await this.#records.get()).begin(task);
  }

  async end(task: TaskRecord): Promise<void> {
    await (await this.#records.get()).end(task);
  }

  async goesOn(id: string, remote: RemoteTask): Promise<void> {
    await (await this.#records.get()).goesOn(id, remote);
  }

  async adopt(id: string): Promise<boolean> {
    return (await this.#records.get()).adopt(id);
  }

  async find(id: string): Promise<TaskRecord | undefined> {
    return (await this.#records.get()).find(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#records.opened())?.[Symbol.dispose]();
  }
}

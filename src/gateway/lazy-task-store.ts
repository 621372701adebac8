import type { TaskRecord, TaskStore } from "../protocol/mcp/task-store.ts";
import type { TasksOptions } from "../protocol/mcp/tasks.ts";
import type { TaskRecords } from "../store/task-records.ts";
import type { House } from "./house.ts";

/** The tasks of a data folder, opened with the first that is begun or asked for. */
export class LazyTaskStore implements TaskStore, AsyncDisposable {
  readonly #house: House;
  #opening: Promise<TaskRecords> | undefined;

  constructor(house: House) {
    this.#house = house;
  }

  /** As a door takes them. */
  get options(): TasksOptions {
    return { store: this, report: this.#house.report };
  }

  async begin(task: TaskRecord): Promise<void> {
    await (await this.#open()).begin(task);
  }

  async end(task: TaskRecord): Promise<void> {
    await (await this.#open()).end(task);
  }

  async find(id: string): Promise<TaskRecord | undefined> {
    return (await this.#open()).find(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#opening?.catch(() => undefined))?.[Symbol.dispose]();
  }

  #open(): Promise<TaskRecords> {
    this.#opening ??= this.#load();
    return this.#opening;
  }

  async #load(): Promise<TaskRecords> {
    try {
      const { TaskRecords } = await import("../store/task-records.ts");
      return await TaskRecords.open(this.#house.config.data);
    } catch (error) {
      // Clear the cached failure so that the next call retries.
      this.#opening = undefined;
      throw error;
    }
  }
}

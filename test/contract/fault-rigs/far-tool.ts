import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { TaskRecords } from "../../../src/store/task-records.ts";
import { textResult, type Tool } from "../../../src/tool/tool.ts";

/** A tool of a server that works on calls as tasks, and goes on with them when we end. */
export const FAR_TOOL: Tool = {
  definition: { name: "far", inputSchema: { type: "object" } },
  source: { server: "far", name: "far" },
  task: "optional",
  call: async (_, context) => {
    context.remoteTask?.("there");
    return textResult("called");
  },
  resume: async () => textResult("resumed"),
};

/** The id of a process that has ended. */
const DEAD = "1-00000000-0000-0000-0000-000000000000";

/** Tasks at another server that a process was waiting for when it ended. */
export class LostTasks {
  readonly #data: string;
  #last: string | undefined;
  /** Waits for a task, and gives the text of its result. */
  readonly #resultOf: (taskId: string) => Promise<string>;

  constructor(data: string, resultOf: (taskId: string) => Promise<string>) {
    this.#data = data;
    this.#resultOf = resultOf;
  }

  /**
   * Loses another. The one before can be had by now: a fault while a task is taken over costs the
   * request, not the task. There is none before the door has created its store, which may fail, too.
   */
  async prepare(): Promise<void> {
    await this.take();
    const file = join(this.#data, "tasks.sqlite");
    if (!existsSync(file)) return;
    const id = crypto.randomUUID();
    const now = new Date().toISOString();
    const times = { createdAt: now, lastUpdatedAt: now };
    const remote = { tool: "far", server: "far", taskId: "there" };
    {
      using records = await TaskRecords.open(this.#data);
      await records.begin({ id, owner: "", ttl: null, status: "working", remote, ...times });
    }
    using database = new DatabaseSync(file);
    database.prepare("UPDATE task SET holder = ? WHERE id = ?").run(DEAD, id);
    this.#last = id;
  }

  /** Asks for the last one. */
  async take(): Promise<void> {
    const id = this.#last;
    if (id !== undefined) assert.equal(await this.#resultOf(id), "resumed", id);
  }
}

import type { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import { Database } from "./database.ts";
import { Holder, HOLDERS } from "./holder.ts";

/** The stored record of a task (MCP 2025-11-25, basic/utilities/tasks). */
export interface StoredTaskRecord {
  readonly id: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation for which it is kept; null if the client did not say. */
  readonly ttl: number | null;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly result?: Readonly<Record<string, unknown>> | undefined;
  readonly error?: { readonly code: number; readonly message: string } | undefined;
}

export const TASK_MIGRATIONS = [
  `CREATE TABLE task (
     id TEXT PRIMARY KEY,
     -- The process that works on it; none once it is over.
     holder TEXT,
     record TEXT NOT NULL,
     expires INTEGER
   ) STRICT, WITHOUT ROWID;

   CREATE INDEX task_held ON task (holder) WHERE holder IS NOT NULL;
   CREATE INDEX task_expires ON task (expires) WHERE expires IS NOT NULL;`,
];

/** Milliseconds for which a result is kept, if the client did not say. */
const KEPT = 60 * 60_000;

const INTERRUPTED = {
  code: -32603,
  message: "Trunkline was restarted while the task was working. Call the tool again.",
};

/**
 * The tasks of MCP clients, in `tasks.sqlite` of the data folder. They outlive the process that works on
 * them: results stay available, and unfinished tasks of a dead process count as failed.
 */
export class TaskRecords implements Disposable {
  readonly #database: Database;
  readonly #holder: Holder;
  readonly #now: () => number;

  private constructor(database: Database, holder: Holder, now: () => number) {
    this.#database = database;
    this.#holder = holder;
    this.#now = now;
  }

  static async open(data: string, now: () => number = Date.now): Promise<TaskRecords> {
    const database = await Database.open(join(data, "tasks.sqlite"), TASK_MIGRATIONS);
    return new TaskRecords(database, Holder.at(join(data, HOLDERS)), now);
  }

  /** Stores a task that this process works on. */
  async begin(task: StoredTaskRecord): Promise<void> {
    await this.#database.change((database) => {
      this.#tidy(database);
      database
        .prepare("INSERT INTO task (id, holder, record) VALUES (?, ?, ?)")
        .run(task.id, this.#holder.id, JSON.stringify(task));
    });
  }

  /** Stores the outcome of a task until it expires. */
  async end(task: StoredTaskRecord): Promise<void> {
    await this.#database.change((database) => this.#end(database, task));
  }

  async find(id: string): Promise<StoredTaskRecord | undefined> {
    const row = await this.#database.read((database) =>
      database
        .prepare("SELECT * FROM task WHERE id = ? AND (expires IS NULL OR expires > ?)")
        .get(id, this.#now()),
    );
    if (row === undefined) return undefined;
    const task = JSON.parse(String(row.record)) as StoredTaskRecord;
    const isLost = row.holder !== null && !this.#holder.isAlive(String(row.holder));
    return isLost ? interrupted(task) : task;
  }

  [Symbol.dispose](): void {
    this.#database[Symbol.dispose]();
    this.#holder[Symbol.dispose]();
  }

  #end(database: DatabaseSync, task: StoredTaskRecord): void {
    const expires = task.ttl === null ? this.#now() + KEPT : Date.parse(task.createdAt) + task.ttl;
    database
      .prepare("UPDATE task SET holder = NULL, record = ?, expires = ? WHERE id = ?")
      .run(JSON.stringify(task), expires, task.id);
  }

  /** Deletes expired tasks, and marks tasks of dead processes as failed. */
  #tidy(database: DatabaseSync): void {
    database.prepare("DELETE FROM task WHERE expires <= ?").run(this.#now());
    const rows = database.prepare("SELECT holder, record FROM task WHERE holder IS NOT NULL").all();
    for (const { holder, record } of rows) {
      if (this.#holder.isAlive(String(holder))) continue;
      this.#end(database, interrupted(JSON.parse(String(record)) as StoredTaskRecord));
    }
  }
}

function interrupted(task: StoredTaskRecord): StoredTaskRecord {
  return { ...task, status: "failed", error: INTERRUPTED };
}

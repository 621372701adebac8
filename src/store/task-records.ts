import type { TaskRecord, TaskStore } from "../tool/task-record.ts";
import type { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import { Database, HeldTables } from "./database.ts";
import { sql } from "./sql.ts";

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

/** Milliseconds for which a task can be taken over whose client did not say how long to keep it. */
const ADOPTABLE = 24 * 60 * 60_000;

/** The code is that of `rpc/codes.ts`. */
const INTERRUPTED = {
  code: -32035,
  message: "Trunkline was restarted while the task was working. Call the tool again.",
};

/**
 * The tasks of MCP clients, in `tasks.sqlite` of the data folder. They outlive the process that works on
 * them: results stay available, and unfinished tasks of a dead process count as failed.
 */
export class TaskRecords extends HeldTables implements TaskStore {
  static async open(data: string, now?: () => number): Promise<TaskRecords> {
    const database = await Database.open(join(data, "tasks.sqlite"), TASK_MIGRATIONS);
    return new TaskRecords(database, now);
  }

  /** Stores a task that this process works on. */
  async begin(task: TaskRecord): Promise<void> {
    await this.database.change((database) => {
      this.#tidy(database);
      sql(database).run`INSERT INTO task (id, holder, record)
        VALUES (${task.id}, ${this.holder.id}, ${JSON.stringify(task)})`;
    });
  }

  /** Stores the outcome of a task until it expires. */
  async end(task: TaskRecord): Promise<void> {
    await this.database.change((database) => this.#end(database, task));
  }

  /** Stores the server at which a task continues. */
  async goesOn(id: string, remote: NonNullable<TaskRecord["remote"]>): Promise<void> {
    await this.database.change((database) => {
      const found = sql(database).get`SELECT record FROM task
        WHERE id = ${id} AND holder = ${this.holder.id}`;
      if (found === undefined) return;
      const task = { ...(JSON.parse(String(found.record)) as TaskRecord), remote };
      sql(database).run`UPDATE task SET record = ${JSON.stringify(task)} WHERE id = ${id}`;
    });
  }

  /** Takes over the task of a dead process. False if another process was faster. */
  async adopt(id: string): Promise<boolean> {
    return await this.database.change((database) => {
      const row = sql(database).get`SELECT holder FROM task WHERE id = ${id}`;
      if (typeof row?.holder !== "string" || this.holder.isAlive(row.holder)) return false;
      sql(database).run`UPDATE task SET holder = ${this.holder.id} WHERE id = ${id}`;
      return true;
    });
  }

  async find(id: string): Promise<TaskRecord | undefined> {
    const row = await this.database.get`SELECT * FROM task WHERE id = ${id}
      AND (expires IS NULL OR expires > ${this.now()})`;
    if (row === undefined) return undefined;
    const task = JSON.parse(String(row.record)) as TaskRecord;
    if (row.holder === null || this.holder.isAlive(String(row.holder))) return task;
    return this.#isAdoptable(task) ? { ...task, isLost: true } : interrupted(task);
  }

  #end(database: DatabaseSync, task: TaskRecord): void {
    const expires = task.ttl === null ? this.now() + KEPT : Date.parse(task.createdAt) + task.ttl;
    sql(database).run`UPDATE task SET holder = NULL, record = ${JSON.stringify(task)}, expires =
      ${expires} WHERE id = ${task.id}`;
  }

  /** Deletes expired tasks, and marks tasks of dead processes as failed. */
  #tidy(database: DatabaseSync): void {
    sql(database).run`DELETE FROM task WHERE expires <= ${this.now()}`;
    const rows = sql(database).all`SELECT holder, record FROM task WHERE holder IS NOT NULL`;
    for (const { holder, record } of rows) {
      if (this.holder.isAlive(String(holder))) continue;
      const task = JSON.parse(String(record)) as TaskRecord;
      if (!this.#isAdoptable(task)) this.#end(database, interrupted(task));
    }
  }

  /** Whether it continues at another server, and can still be taken over. */
  #isAdoptable({ remote, createdAt, ttl }: TaskRecord): boolean {
    return remote !== undefined && Date.parse(createdAt) + (ttl ?? ADOPTABLE) > this.now();
  }
}

function interrupted(task: TaskRecord): TaskRecord {
  return { ...task, status: "failed", error: INTERRUPTED };
}

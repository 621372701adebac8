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
  /** The task of another server that it waits for, and that goes on when this process ends. */
  readonly remote?: RemoteTaskRecord | undefined;
  /** Not stored: the process has ended that worked on it, and it goes on at the other server. */
  readonly isLost?: true;
}

export interface RemoteTaskRecord {
  readonly tool: string;
  readonly server: string;
  readonly taskId: string;
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

  /** Stores at which server a task goes on. */
  async goesOn(id: string, remote: RemoteTaskRecord): Promise<void> {
    await this.#database.change((database) => {
      const row = database.prepare("SELECT record FROM task WHERE id = ? AND holder = ?");
      const found = row.get(id, this.#holder.id);
      if (found === undefined) return;
      const task = { ...(JSON.parse(String(found.record)) as StoredTaskRecord), remote };
      const update = database.prepare("UPDATE task SET record = ? WHERE id = ?");
      update.run(JSON.stringify(task), id);
    });
  }

  /** Makes a lost task one that this process works on. False where another process was faster. */
  async adopt(id: string): Promise<boolean> {
    return await this.#database.change((database) => {
      const row = database.prepare("SELECT holder FROM task WHERE id = ?").get(id);
      if (typeof row?.holder !== "string" || this.#holder.isAlive(row.holder)) return false;
      database.prepare("UPDATE task SET holder = ? WHERE id = ?").run(this.#holder.id, id);
      return true;
    });
  }

  async find(id: string): Promise<StoredTaskRecord | undefined> {
    const row = await this.#database.read((database) =>
      database
        .prepare("SELECT * FROM task WHERE id = ? AND (expires IS NULL OR expires > ?)")
        .get(id, this.#now()),
    );
    if (row === undefined) return undefined;
    const task = JSON.parse(String(row.record)) as StoredTaskRecord;
    if (row.holder === null || this.#holder.isAlive(String(row.holder))) return task;
    return this.#isAdoptable(task) ? { ...task, isLost: true } : interrupted(task);
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
      const task = JSON.parse(String(record)) as StoredTaskRecord;
      if (!this.#isAdoptable(task)) this.#end(database, interrupted(task));
    }
  }

  /** Whether it goes on at another server, for a process that asks for it in time. */
  #isAdoptable({ remote, createdAt, ttl }: StoredTaskRecord): boolean {
    return remote !== undefined && Date.parse(createdAt) + (ttl ?? ADOPTABLE) > this.#now();
  }
}

function interrupted(task: StoredTaskRecord): StoredTaskRecord {
  return { ...task, status: "failed", error: INTERRUPTED };
}

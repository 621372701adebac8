import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { Database } from "./database.ts";
import { mayBeAlive, thisProcess } from "./holder.ts";
import { type Appended, SessionCommits } from "./session-commits.ts";
import {
  copyPages,
  type Direction,
  lastOf,
  type LoggedEvent,
  PAGE_SIZE,
  PAGES,
  readPages,
} from "./session-pages.ts";
import { RULES, RULES_OF_PRINCIPALS } from "./session-rules.ts";

/** What is known of a session beside what was said in it. */
export interface SessionRecord {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title: string | undefined;
  readonly created: number;
  readonly updated: number;
  /** The session that it was forked from. */
  readonly parent: string | undefined;
  /** Whatever else its keeper wants to find again, as JSON. */
  readonly notes: Readonly<Record<string, unknown>>;
  readonly isDeleted: boolean;
  /** A process has it open; it may be this one. */
  readonly isHeld: boolean;
}

export interface NewSession {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title?: string;
  readonly parent?: string;
  readonly notes: Readonly<Record<string, unknown>>;
}

/** A session that this process has open, and may add to. */
export interface HeldSession {
  readonly key: number;
  readonly record: SessionRecord;
  /** The number of its last event. */
  readonly last: number;
}

const SESSION_MIGRATIONS = [
  `CREATE TABLE session (
     id INTEGER PRIMARY KEY,
     uuid TEXT NOT NULL UNIQUE,
     cwd TEXT NOT NULL,
     agent TEXT NOT NULL,
     title TEXT,
     created INTEGER NOT NULL,
     updated INTEGER NOT NULL,
     parent TEXT,
     notes TEXT NOT NULL,
     deleted INTEGER,
     holder TEXT
   ) STRICT;

   CREATE INDEX session_updated ON session (updated DESC) WHERE deleted IS NULL;
   ${PAGES}
   ${RULES}`,
  RULES_OF_PRINCIPALS,
];

/** Characters that are read from the log at a time. */
const READ = 256 * 1024;

/**
 * The events of all sessions, each numbered within its session, and never altered. An append that
 * has resolved is on disk. One process at a time adds to a session: whoever holds it.
 */
export class SessionLog implements AsyncDisposable {
  readonly database: Database;
  readonly #commits: SessionCommits;

  private constructor(database: Database) {
    this.database = database;
    this.#commits = new SessionCommits(database);
  }

  static async open(data: string): Promise<SessionLog> {
    const path = join(data, "sessions.sqlite");
    const options = { pageSize: PAGE_SIZE };
    return new SessionLog(await Database.open(path, SESSION_MIGRATIONS, options));
  }

  /** Begins a session, which this process holds from now on. */
  async create(session: NewSession): Promise<HeldSession> {
    const held = await this.database.change((database) => insert(database, session, Date.now()));
    return this.#begin(held);
  }

  /** Begins a session with all that was said in another up to an event. */
  async fork(from: string, session: NewSession, upTo = Infinity): Promise<HeldSession> {
    await this.flush();
    const held = await this.database.change((database) => {
      const { key } = rowOf(database, from);
      const forked = insert(database, session, Date.now());
      copyPages(database, key, forked.key, upTo);
      return { ...forked, last: lastOf(database, forked.key) };
    });
    return this.#begin(held);
  }

  /** Opens a session to add to it. Throws "not-found", "closed" (deleted) or "conflict" (held). */
  async hold(id: string): Promise<HeldSession> {
    const held = await this.database.change((database) => {
      const { key, record, holder } = rowOf(database, id);
      if (record.isDeleted) throw new TrunklineError("closed", `Session '${id}' was deleted.`);
      if (holder !== undefined && holder !== thisProcess() && mayBeAlive(holder)) {
        const [host, pid] = holder.split(" ");
        const who = `process ${pid} on ${host}`;
        throw new TrunklineError(
          "conflict",
          `Session '${id}' is open in another Trunkline (${who}). Close it there first.`,
        );
      }
      database.prepare("UPDATE session SET holder = ? WHERE id = ?").run(thisProcess(), key);
      return { key, record, last: lastOf(database, key) };
    });
    return this.#begin(held);
  }

  /** Lets others open it. */
  async release(key: number): Promise<void> {
    await this.flush();
    this.#commits.end(key);
    await this.database.change((database) => {
      database
        .prepare("UPDATE session SET holder = NULL WHERE id = ? AND holder = ?")
        .run(key, thisProcess());
    });
  }

  /** Adds the next event to a session that is held here. */
  append(key: number, direction: Direction, text: string): Appended {
    return this.#commits.append(key, direction, text);
  }

  flush(): Promise<void> {
    return this.#commits.flush();
  }

  /** Changes what is known of a session; `undefined` leaves it as it is. */
  async describe(
    key: number,
    change: { readonly title?: string; readonly notes?: object; readonly updated?: number },
  ): Promise<void> {
    const { title, notes, updated } = change;
    await this.database.change((database) => {
      database
        .prepare(
          `UPDATE session SET title = coalesce(?, title), notes = coalesce(?, notes),
             updated = coalesce(?, updated) WHERE id = ?`,
        )
        .run(
          title ?? null,
          notes === undefined ? null : JSON.stringify(notes),
          updated ?? null,
          key,
        );
    });
  }

  find(id: string): Promise<SessionRecord | undefined> {
    return this.database.read((database) => {
      const row = database.prepare("SELECT * FROM session WHERE uuid = ?").get(id);
      return row === undefined ? undefined : recordOf(row);
    });
  }

  /** The last ones first; of one folder, where that is given. */
  list(
    options: {
      cwd?: string;
      owner?: string;
      /** One that was listed, as it stood there: those behind it. */
      after?: Pick<SessionRecord, "id" | "updated">;
      limit?: number;
    } = {},
  ): Promise<SessionRecord[]> {
    const { cwd, owner, after, limit = -1 } = options;
    return this.database.read((database) =>
      database
        .prepare(
          `SELECT * FROM session WHERE deleted IS NULL AND (?1 IS NULL OR cwd = ?1)
           AND (?4 IS NULL OR coalesce(json_extract(notes, '$.owner'), '') = ?4)
           AND (?3 IS NULL OR (updated, id) < (?3, (SELECT id FROM session WHERE uuid = ?5)))
           ORDER BY updated DESC, id DESC LIMIT ?2`,
        )
        .all(cwd ?? null, limit, after?.updated ?? null, owner ?? null, after?.id ?? null)
        .map(recordOf),
    );
  }

  /** What was said after an event, oldest first. A read holds nothing up and deletes nothing. */
  async *read(id: string, after = 0): AsyncGenerator<LoggedEvent> {
    await this.flush();
    const { key } = await this.database.read((database) => rowOf(database, id));
    let seen = after;
    for (;;) {
      const from = seen;
      const events = await this.database.read((it) => readPages(it, key, from, READ));
      if (events.length === 0) return;
      yield* events;
      seen = events.at(-1)?.seq ?? seen;
    }
  }

  /** Forgets what was said. That there was such a session stays known. */
  async delete(id: string): Promise<void> {
    await this.flush();
    const key = await this.database.change((database) => {
      const { key, record } = rowOf(database, id);
      if (record.isDeleted) return key;
      database.prepare("DELETE FROM session_page WHERE session = ?").run(key);
      database
        .prepare(
          `UPDATE session SET deleted = ?, title = NULL, notes = '{}', holder = NULL WHERE id = ?`,
        )
        .run(Date.now(), key);
      return key;
    });
    this.#commits.end(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    this.database[Symbol.dispose]();
  }

  #begin(held: HeldSession): HeldSession {
    this.#commits.begin(held.key, held.last);
    return held;
  }
}

function insert(database: DatabaseSync, session: NewSession, now: number): HeldSession {
  const { id, cwd, agent, title, parent, notes } = session;
  const row = database
    .prepare(
      `INSERT INTO session (uuid, cwd, agent, title, created, updated, parent, notes, holder)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *`,
    )
    .get(
      id,
      cwd,
      agent,
      title ?? null,
      now,
      now,
      parent ?? null,
      JSON.stringify(notes),
      thisProcess(),
    );
  if (row === undefined) throw new Error("SQLite returned no row");
  return { key: Number(row.id), record: recordOf(row), last: 0 };
}

function rowOf(
  database: DatabaseSync,
  id: string,
): { key: number; record: SessionRecord; holder: string | undefined } {
  const row = database.prepare("SELECT * FROM session WHERE uuid = ?").get(id);
  if (row === undefined) {
    throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
  }
  const holder = (row.holder as string | null) ?? undefined;
  return { key: Number(row.id), record: recordOf(row), holder };
}

function recordOf(row: Readonly<Record<string, SQLOutputValue>>): SessionRecord {
  const holder = row.holder as string | null;
  return {
    id: String(row.uuid),
    cwd: String(row.cwd),
    agent: String(row.agent),
    title: (row.title as string | null) ?? undefined,
    created: Number(row.created),
    updated: Number(row.updated),
    parent: (row.parent as string | null) ?? undefined,
    notes: JSON.parse(String(row.notes)) as Record<string, unknown>,
    isDeleted: row.deleted !== null,
    isHeld: holder !== null && mayBeAlive(holder),
  };
}

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Database } from "../database.ts";
import { Holder, HOLDERS } from "../holder.ts";
import { HeldElsewhere } from "./held-elsewhere.ts";
import { type AppendedPage, SessionCommits } from "./session-commits.ts";
import {
  copyPages,
  type Direction,
  lastOf,
  type LoggedEvent,
  PAGE_SIZE,
  PAGES,
  readPages,
} from "./session-pages.ts";
import { REPLICAS } from "./session-replicas.ts";
import { RULES, RULES_OF_PRINCIPALS, RULES_OF_SUBJECTS } from "./session-rules.ts";
import { USAGE } from "./session-usage.ts";

/** What is stored of a session beside its events. */
export interface SessionFields {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title: string | undefined;
  readonly created: number;
  readonly updated: number;
  /** Id of the session that it was forked from. */
  readonly parent: string | undefined;
  /** Further data of its owner, as JSON. */
  readonly notes: Readonly<Record<string, unknown>>;
}

/** The stored record of a session, without its events. */
export interface SessionRecord extends SessionFields {
  readonly isDeleted: boolean;
  /** A process, perhaps this one, has the session open. */
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

/** A session that this process has open and may append to. */
export interface HeldSession {
  readonly key: number;
  readonly record: SessionRecord;
  /** Number of its last event. */
  readonly last: number;
}

export const SESSION_MIGRATIONS = [
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
  USAGE,
  REPLICAS,
  RULES_OF_SUBJECTS,
];

/** Milliseconds until a failed release of a session is retried. */
const RETRY_RELEASE = 1_000;

/** Characters that are read from the log at a time. */
const READ = 256 * 1024;

/**
 * Stores sessions and their events, which are numbered within their session and never changed. Only the
 * process that holds a session may append to it.
 */
export class SessionLog implements AsyncDisposable {
  readonly database: Database;
  readonly #commits: SessionCommits;
  readonly #holder: Holder;
  /** Sessions whose release is not on disk yet. */
  readonly #leaving = new Set<number>();
  #retry: NodeJS.Timeout | undefined;

  private constructor(database: Database, holder: Holder) {
    this.database = database;
    this.#holder = holder;
    this.#commits = new SessionCommits(database);
  }

  /** `isHasty`: what is stored need not survive a power failure, since it is stored elsewhere too. */
  static async open(
    data: string,
    { isHasty = false }: { readonly isHasty?: boolean } = {},
  ): Promise<SessionLog> {
    const path = join(data, "sessions.sqlite");
    const options = { pageSize: PAGE_SIZE, isHasty };
    const database = await Database.open(path, SESSION_MIGRATIONS, options);
    return new SessionLog(database, Holder.at(join(data, HOLDERS)));
  }

  /** The id under which this process holds sessions. */
  get holder(): string {
    return this.#holder.id;
  }

  /** The id of the live process that has a session open; undefined if none has. */
  async holderOf(id: string): Promise<string | undefined> {
    const { record, holder } = await this.database.read((database) => this.#rowOf(database, id));
    return record.isHeld ? holder : undefined;
  }

  /**
   * Creates a session, which this process then holds. A deleted session of the same id begins anew: the
   * ids of sessions that other agents have begun stay the same.
   */
  async create(session: NewSession): Promise<HeldSession> {
    const held = await this.database.change((database) => this.#insert(database, session));
    return this.#begin(held);
  }

  /** Creates a session with a copy of another's events, up to `upTo`. */
  async fork(from: string, session: NewSession, upTo = Infinity): Promise<HeldSession> {
    await this.flush();
    const held = await this.database.change((database) => {
      const { key } = this.#rowOf(database, from);
      const forked = this.#insert(database, session);
      copyPages(database, key, forked.key, upTo);
      return { ...forked, last: lastOf(database, forked.key) };
    });
    return this.#begin(held);
  }

  /** Opens a session to append to it. Throws "not-found", "closed" (deleted) or "conflict" (held). */
  async hold(id: string): Promise<HeldSession> {
    const held = await this.database.change((database) => {
      const { key, record, holder } = this.#rowOf(database, id);
      if (record.isDeleted) throw new TrunklineError("closed", `Session '${id}' was deleted.`);
      if (record.isHeld && holder !== this.#holder.id) throw new HeldElsewhere(id, holder);
      database.prepare("UPDATE session SET holder = ? WHERE id = ?").run(this.#holder.id, key);
      return { key, record, last: lastOf(database, key) };
    });
    return this.#begin(held);
  }

  /**
   * Keeps other processes of this data folder from opening a session, and replaces its record by that of
   * a store that several machines share. Returns its key. `hold` then opens it.
   */
  async adopt(record: SessionRecord): Promise<number> {
    const { id, cwd, agent, title, created, updated, parent, notes } = record;
    const mine = this.#holder.id;
    return await this.database.change((database) => {
      const row = database.prepare("SELECT holder FROM session WHERE uuid = ?").get(id);
      const holder = row?.holder as string | null | undefined;
      const isTaken = typeof holder === "string" && holder !== mine;
      if (isTaken && this.#holder.isAlive(holder)) throw new HeldElsewhere(id, holder);
      const adopted = database
        .prepare(
          `INSERT INTO session (uuid, cwd, agent, title, created, updated, parent, notes, holder)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (uuid) DO UPDATE SET cwd = excluded.cwd, agent = excluded.agent,
             title = excluded.title, created = excluded.created, updated = excluded.updated,
             parent = excluded.parent, notes = excluded.notes, holder = excluded.holder,
             deleted = NULL
           RETURNING id`,
        )
        .get(
          ...[id, cwd, agent, title ?? null, created, updated, parent ?? null],
          ...[JSON.stringify(notes), mine],
        );
      return Number(adopted?.id);
    });
  }

  /** Releases a session for other processes. A failed release is retried. */
  async release(key: number): Promise<void> {
    await this.flush();
    this.#commits.end(key);
    this.#leaving.add(key);
    await this.#releaseAll();
  }

  /** Appends an event to a session that this process holds. */
  append(key: number, direction: Direction, text: string): AppendedPage {
    return this.#commits.append(key, direction, text);
  }

  flush(): Promise<void> {
    return this.#commits.flush();
  }

  /** Changes the record of a session that this process holds; `undefined` keeps a value. */
  async describe(
    key: number,
    change: { readonly title?: string; readonly notes?: object; readonly updated?: number },
  ): Promise<void> {
    const { title, notes, updated } = change;
    await this.database.change((database) => {
      database
        .prepare(
          `UPDATE session SET title = coalesce(?, title), notes = coalesce(?, notes),
             updated = coalesce(?, updated) WHERE id = ? AND holder = ?`,
        )
        .run(
          title ?? null,
          notes === undefined ? null : JSON.stringify(notes),
          updated ?? null,
          key,
          this.#holder.id,
        );
    });
  }

  find(id: string): Promise<SessionRecord | undefined> {
    return this.database.read((database) => {
      const row = database.prepare("SELECT * FROM session WHERE uuid = ?").get(id);
      return row === undefined ? undefined : this.#recordOf(row);
    });
  }

  /** Sessions by last use, newest first. */
  list(
    options: {
      cwd?: string;
      owner?: string;
      /** The last session of the previous page. */
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
        .map((row) => this.#recordOf(row)),
    );
  }

  /** Ids of the sessions of an owner that some process has open; "" finds those without one. */
  openOf(owner: string): Promise<string[]> {
    return this.database.read((database) =>
      database
        .prepare(
          `SELECT uuid, holder FROM session WHERE holder IS NOT NULL AND deleted IS NULL
           AND coalesce(json_extract(notes, '$.owner'), '') = ?`,
        )
        .all(owner)
        .filter(({ holder }) => this.#holder.isAlive(String(holder)))
        .map(({ uuid }) => String(uuid)),
    );
  }

  /** Events after `after`, oldest first. Reading needs no hold on the session. */
  async *read(id: string, after = 0): AsyncGenerator<LoggedEvent> {
    await this.flush();
    const { key } = await this.database.read((database) => this.#rowOf(database, id));
    let seen = after;
    for (;;) {
      const from = seen;
      const events = await this.database.read((it) => readPages(it, key, from, READ));
      if (events.length === 0) return;
      yield* events;
      seen = events.at(-1)?.seq ?? seen;
    }
  }

  /** Deletes the events of a session. Its id stays known as deleted. */
  async delete(id: string): Promise<void> {
    await this.flush();
    const key = await this.database.change((database) => {
      const { key, record } = this.#rowOf(database, id);
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
    clearTimeout(this.#retry);
    this.database[Symbol.dispose]();
    // Sessions that could not be released are free once the holder ends.
    this.#holder[Symbol.dispose]();
  }

  #begin(held: HeldSession): HeldSession {
    this.#leaving.delete(held.key);
    this.#commits.begin(held.key, held.last);
    return held;
  }

  async #releaseAll(): Promise<void> {
    clearTimeout(this.#retry);
    const keys = [...this.#leaving];
    try {
      await this.database.change((database) => {
        const release = database.prepare(
          "UPDATE session SET holder = NULL WHERE id = ? AND holder = ?",
        );
        for (const key of keys) release.run(key, this.#holder.id);
      });
      for (const key of keys) this.#leaving.delete(key);
    } catch (error) {
      this.#retry = setTimeout(() => {
        this.#releaseAll().catch(() => {});
      }, RETRY_RELEASE).unref();
      throw error;
    }
  }

  #insert(database: DatabaseSync, session: NewSession): HeldSession {
    const { id, cwd, agent, title, parent, notes } = session;
    const now = Date.now();
    const holder = this.#holder.id;
    const row = database
      .prepare(
        `INSERT INTO session (uuid, cwd, agent, title, created, updated, parent, notes, holder)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (uuid) DO UPDATE SET cwd = excluded.cwd, agent = excluded.agent,
           title = excluded.title, created = excluded.created, updated = excluded.updated,
           parent = excluded.parent, notes = excluded.notes, holder = excluded.holder, deleted = NULL
           WHERE deleted IS NOT NULL
         RETURNING *`,
      )
      .get(id, cwd, agent, title ?? null, now, now, parent ?? null, JSON.stringify(notes), holder);
    if (row === undefined) throw new TrunklineError("conflict", `Session '${id}' exists already.`);
    return { key: Number(row.id), record: this.#recordOf(row), last: 0 };
  }

  #rowOf(database: DatabaseSync, id: string): StoredSession {
    const row = database.prepare("SELECT * FROM session WHERE uuid = ?").get(id);
    if (row === undefined) {
      throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
    }
    const holder = (row.holder as string | null) ?? "";
    return { key: Number(row.id), record: this.#recordOf(row), holder };
  }

  #recordOf(row: Readonly<Record<string, SQLOutputValue>>): SessionRecord {
    const holder = row.holder as string | null;
    return {
      ...fieldsOf(row),
      isDeleted: row.deleted !== null,
      isHeld: holder !== null && this.#holder.isAlive(holder),
    };
  }
}

interface StoredSession {
  readonly key: number;
  readonly record: SessionRecord;
  readonly holder: string;
}

export function fieldsOf(row: Readonly<Record<string, SQLOutputValue>>): SessionFields {
  return {
    id: String(row.uuid),
    cwd: String(row.cwd),
    agent: String(row.agent),
    title: (row.title as string | null) ?? undefined,
    created: Number(row.created),
    updated: Number(row.updated),
    parent: (row.parent as string | null) ?? undefined,
    notes: JSON.parse(String(row.notes)) as Record<string, unknown>,
  };
}

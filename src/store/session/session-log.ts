import type {
  HeldSession,
  NewSession,
  SessionFields,
  SessionRecord,
  StoredEvent,
} from "../../session/store.ts";
import type { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Database, type Row } from "../database.ts";
import { Holder, HOLDERS } from "../holder.ts";
import { sql } from "../sql.ts";
import { type AppendedPage, SessionCommits } from "./session-commits.ts";
import {
  copyPages,
  type Direction,
  lastOf,
  PAGE_SIZE,
  PAGES,
  readPages,
  TEXT_LINES,
} from "./session-pages.ts";
import { endMove, MOVES, refuseMoved, SessionMoves } from "./session-moves.ts";
import { REPLICAS } from "./session-replicas.ts";
import { RULES, RULES_OF_PRINCIPALS, RULES_OF_SUBJECTS } from "./session-rules.ts";
import { USAGE } from "./session-usage.ts";
import { endServed } from "../../base/process/process-tree.ts";

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
  "ALTER TABLE session ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0",
  TEXT_LINES,
  MOVES,
];

export interface SessionLogOptions {
  /** Data need not survive a power failure, since it is stored elsewhere too. */
  readonly isHasty?: boolean;
  /** Called when another process has taken a session that is held here. */
  readonly lost?: (id: string) => void;
}

/**
 * Stores sessions and their events, which are numbered within their session and never changed. Only the
 * process that holds a session may append to it.
 */
export class SessionLog implements AsyncDisposable {
  readonly database: Database;
  readonly #commits: SessionCommits;
  readonly #holder: Holder;
  readonly #lost: (id: string) => void;
  /**
   * The sessions that this process holds, by their keys. A process that takes a session starts a new epoch, and
   * writes of earlier epochs are rejected: a stopped process does not know that it has lost the session.
   */
  readonly #held = new Map<number, Hold>();
  /** Sessions whose release is not on disk yet, and their epochs. */
  readonly #leaving = new Map<number, number>();
  #retry: NodeJS.Timeout | undefined;

  private constructor(database: Database, holder: Holder, lost: (id: string) => void) {
    this.database = database;
    this.#holder = holder;
    this.#lost = lost;
    this.#commits = new SessionCommits(database, (key) => this.#lose(key));
  }

  static async open(
    data: string,
    { isHasty = false, lost = () => {} }: SessionLogOptions = {},
  ): Promise<SessionLog> {
    const path = join(data, "sessions.sqlite");
    const options = { pageSize: PAGE_SIZE, isHasty };
    const database = await Database.open(path, SESSION_MIGRATIONS, options);
    return new SessionLog(database, Holder.at(join(data, HOLDERS)), lost);
  }

  /** Throws if the session has moved away. */
  async refuseMoved(id: string): Promise<void> {
    await this.database.read((database) => refuseMoved(database, id, () => false));
  }

  /** The sessions on their way between machines. */
  get moves(): SessionMoves {
    return new SessionMoves(this.database, this.#holder);
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
   * Creates a session, which this process then holds. A deleted session with the same id is
   * replaced: sessions that were started in other agents keep their ids when they are loaded again.
   */
  async create(session: NewSession): Promise<HeldSession> {
    return this.#begin(await this.database.change((database) => this.#insert(database, session)));
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
    // Read first: a stopped holder may hold SQLite's write lock.
    await this.database.read((database) => this.#freeRowOf(database, id));
    const held = await this.database.change((database) => {
      const { key, record } = this.#freeRowOf(database, id);
      endMove(database, id);
      const row = sql(database).get`UPDATE session SET holder = ${this.#holder.id},
        epoch = epoch + 1 WHERE id = ${key} RETURNING epoch`;
      return { key, record, last: lastOf(database, key), epoch: Number(row?.epoch) };
    });
    return this.#begin(held);
  }

  /**
   * Takes a session from a process that is alive but does not answer: rejects its later writes, ends the
   * processes it started for the session, and releases the session. Throws "conflict" where that cannot be done.
   */
  async depose(id: string, holder: string): Promise<void> {
    const pid = this.#holder.pidOf(holder) ?? 0;
    const deposed = await this.database.change((database) => {
      const { key, record, epoch, holder: now } = this.#rowOf(database, id);
      if (now !== holder || !record.isHeld || holder === this.#holder.id) return undefined;
      // A process of a version without epochs would continue to write.
      if (pid === 0 || epoch === 0) throw unanswered(id, holder);
      sql(database).run`UPDATE session SET epoch = ${epoch + 1} WHERE id = ${key}`;
      return { key, epoch: epoch + 1 };
    });
    if (deposed === undefined) return;
    await endServed([id, holder], pid);
    await this.database.change((database) => release(database, deposed.key, deposed.epoch));
  }

  /** Checks whether other processes have taken sessions that are held here, and reports these as lost. */
  async confirm(id?: string): Promise<void> {
    const lost = await this.database.read((database) => {
      const held = [...this.#held].filter((each) => id === undefined || each[1].id === id);
      return held.filter(([key, { epoch }]) => {
        return sql(database).get`SELECT epoch FROM session WHERE id = ${key}`?.epoch !== epoch;
      });
    });
    for (const [key, hold] of lost) if (this.#held.get(key) === hold) this.#lose(key);
  }

  /**
   * Keeps other processes of this data folder from opening a session, and replaces its record by that of
   * a store that several machines share. Returns its key. `hold` then opens it.
   */
  async adopt(record: SessionRecord): Promise<number> {
    const { id, cwd, agent, title, created, updated, parent, notes } = record;
    const mine = this.#holder.id;
    return await this.database.change((database) => {
      const row = sql(database).get`SELECT holder FROM session WHERE uuid = ${id}`;
      const holder = row?.holder as string | null | undefined;
      const isTaken = typeof holder === "string" && holder !== mine;
      if (isTaken && this.#holder.isAlive(holder)) throw new HeldElsewhereError(id, holder);
      const adopted = sql(database).get`INSERT INTO session (uuid, cwd, agent, title, created,
        updated, parent, notes, holder)
        VALUES (${id}, ${cwd}, ${agent}, ${title ?? null}, ${created}, ${updated},
        ${parent ?? null}, ${JSON.stringify(notes)}, ${mine})
        ON CONFLICT (uuid) DO UPDATE SET cwd = excluded.cwd, agent = excluded.agent,
        title = excluded.title, created = excluded.created, updated = excluded.updated,
        parent = excluded.parent, notes = excluded.notes, holder = excluded.holder, deleted = NULL
        RETURNING id`;
      return Number(adopted?.id);
    });
  }

  /** Releases a session for other processes. A failed release is retried. */
  async release(key: number): Promise<void> {
    await this.flush();
    this.#commits.end(key);
    const held = this.#held.get(key);
    this.#held.delete(key);
    if (held !== undefined) this.#leaving.set(key, held.epoch);
    await this.#releaseAll();
  }

  /**
   * Appends an event to a session that this process holds. `text` is JSON of its text, if it differs from
   * the event before in nothing else.
   */
  append(key: number, direction: Direction, message: string, text?: string): AppendedPage {
    return this.#commits.append(key, direction, message, text);
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
    const held = this.#held.get(key);
    if (held === undefined) return;
    const { id, epoch } = held;
    const isLost = await this.database.change((database) => {
      const text = notes === undefined ? null : JSON.stringify(notes);
      const { changes } = sql(database).run`UPDATE session SET
        title = coalesce(${title ?? null}, title), notes = coalesce(${text}, notes),
        updated = coalesce(${updated ?? null}, updated) WHERE id = ${key} AND epoch = ${epoch}`;
      return changes === 0;
    });
    if (!isLost) return;
    const failure = this.#lose(key);
    const holder = await this.holderOf(id);
    throw holder === undefined ? failure : new HeldElsewhereError(id, holder);
  }

  async find(id: string): Promise<SessionRecord | undefined> {
    const row = await this.database.get`SELECT * FROM session WHERE uuid = ${id}`;
    return row && this.#recordOf(row);
  }

  /** Sessions by last use, newest first. */
  list(
    options: {
      cwd?: string | undefined;
      owner?: string | undefined;
      /** The last session of the previous page. */
      after?: Pick<SessionRecord, "id" | "updated"> | undefined;
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
  async openOf(owner: string): Promise<string[]> {
    const rows = await this.database.all`SELECT uuid, holder FROM session WHERE holder IS NOT NULL
      AND deleted IS NULL AND coalesce(json_extract(notes, '$.owner'), '') = ${owner}`;
    const open = rows.filter(({ holder }) => this.#holder.isAlive(String(holder)));
    return open.map(({ uuid }) => String(uuid));
  }

  /** Events after `after`, oldest first, in batches. Reading needs no hold on the session. */
  async *read(id: string, after = 0): AsyncGenerator<readonly StoredEvent[]> {
    await this.flush();
    const { key } = await this.database.read((database) => this.#rowOf(database, id));
    let seen = after;
    for (;;) {
      const from = seen;
      const events = await this.database.read((it) => readPages(it, key, from));
      if (events.length === 0) return;
      yield events;
      seen = events.at(-1)?.seq ?? seen;
    }
  }

  /** Deletes the events of a session. Its id stays known as deleted. */
  async delete(id: string): Promise<void> {
    await this.flush();
    const key = await this.database.change((database) => {
      const { key, record, holder } = this.#rowOf(database, id);
      if (record.isDeleted) return key;
      if (record.isHeld && holder !== this.#holder.id) throw new HeldElsewhereError(id, holder);
      sql(database).run`DELETE FROM session_page WHERE session = ${key}`;
      sql(database).run`UPDATE session SET deleted = ${Date.now()}, title = NULL, notes = '{}',
        holder = NULL WHERE id = ${key}`;
      return key;
    });
    this.#commits.end(key);
    this.#held.delete(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    clearTimeout(this.#retry);
    this.database[Symbol.dispose]();
    // Sessions that could not be released are free once the holder ends.
    this.#holder[Symbol.dispose]();
  }

  #begin({ epoch, ...held }: HeldSession & { readonly epoch: number }): HeldSession {
    const { key, last } = held;
    this.#leaving.delete(key);
    this.#held.set(key, { id: held.record.id, epoch, isLost: false });
    this.#commits.begin(key, last, epoch);
    return held;
  }

  /** Marks a session as taken by another process. Returns the error for later writes. */
  #lose(key: number): Error {
    const held = this.#held.get(key);
    const { id = "" } = held ?? {};
    if (held?.isLost === false) {
      held.isLost = true;
      this.#lost(id);
    }
    const why = "since this one did not answer for a while";
    const says = `Another Trunkline has taken session '${id}' over, ${why}.`;
    return new TrunklineError("closed", says);
  }

  async #releaseAll(): Promise<void> {
    clearTimeout(this.#retry);
    const leaving = [...this.#leaving];
    try {
      await this.database.change((database) => {
        for (const [key, epoch] of leaving) release(database, key, epoch);
      });
      for (const [key] of leaving) this.#leaving.delete(key);
    } catch (error) {
      this.#retry = setTimeout(() => {
        this.#releaseAll().catch(() => {});
      }, RETRY_RELEASE).unref();
      throw error;
    }
  }

  #insert(database: DatabaseSync, session: NewSession): HeldSession & { readonly epoch: number } {
    const { id, cwd, agent, title, parent, notes } = session;
    const now = Date.now();
    const holder = this.#holder.id;
    const row = sql(database).get`INSERT INTO session (uuid, cwd, agent, title, created, updated,
      parent, notes, holder, epoch)
      VALUES (${id}, ${cwd}, ${agent}, ${title ?? null}, ${now}, ${now}, ${parent ?? null},
      ${JSON.stringify(notes)}, ${holder}, 1)
      ON CONFLICT (uuid) DO UPDATE SET cwd = excluded.cwd, agent = excluded.agent,
      title = excluded.title, created = excluded.created, updated = excluded.updated,
      parent = excluded.parent, notes = excluded.notes, holder = excluded.holder, deleted = NULL,
      epoch = session.epoch + 1
      WHERE deleted IS NOT NULL
      RETURNING *`;
    if (row === undefined) throw new TrunklineError("conflict", `Session '${id}' exists already.`);
    const { id: key, epoch } = row;
    return { key: Number(key), record: this.#recordOf(row), last: 0, epoch: Number(epoch) };
  }

  #freeRowOf(database: DatabaseSync, id: string): StoredSession {
    const row = this.#rowOf(database, id);
    const { record, holder } = row;
    if (record.isDeleted) throw new TrunklineError("closed", `Session '${id}' was deleted.`);
    if (record.isHeld && holder !== this.#holder.id) throw new HeldElsewhereError(id, holder);
    refuseMoved(database, id, (mover) => this.#holder.isAlive(mover));
    return row;
  }

  #rowOf(database: DatabaseSync, id: string): StoredSession {
    const row = sql(database).get`SELECT * FROM session WHERE uuid = ${id}`;
    if (row === undefined) {
      throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
    }
    const holder = (row.holder as string | null) ?? "";
    const { id: key, epoch } = row;
    return { key: Number(key), record: this.#recordOf(row), holder, epoch: Number(epoch) };
  }

  #recordOf(row: Row): SessionRecord {
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
  readonly epoch: number;
}

function unanswered(id: string, holder: string): TrunklineError {
  const where = `in another Trunkline (process ${holder.split("-", 1)[0]}), which does not answer`;
  const says = `Session '${id}' is open ${where}. Continue or end it there.`;
  return new TrunklineError("conflict", says);
}

/** Milliseconds until a failed release of a session is retried. */
const RETRY_RELEASE = 1_000;

/** A session that this process holds. */
interface Hold {
  readonly id: string;
  readonly epoch: number;
  /** Another process has taken it. */
  isLost: boolean;
}

function release(database: DatabaseSync, key: number, epoch: number): void {
  sql(database).run`UPDATE session SET holder = NULL WHERE id = ${key} AND epoch = ${epoch}`;
}

export function fieldsOf(row: Row): SessionFields {
  const { uuid: id, cwd, agent, created, updated } = row;
  const [title, parent] = [row.title ?? undefined, row.parent ?? undefined];
  const notes: unknown = JSON.parse(String(row.notes));
  return { id, cwd, agent, title, created, updated, parent, notes } as unknown as SessionFields;
}

/** Another process has a session open. */
export class HeldElsewhereError extends TrunklineError {
  /** The id under which it holds the session. */
  readonly holder: string;

  /** `worker` names the worker of a fleet that has it open, or is to open it. */
  constructor(id: string, holder: string, worker?: string) {
    const [where, next] =
      worker === undefined
        ? [`in another Trunkline (process ${holder.split("-", 1)[0]})`, "Close it there first"]
        : [`on ${worker}, which cannot be reached at the moment`, "Try again in some seconds"];
    super("conflict", `Session '${id}' is open ${where}. ${next}.`);
    this.holder = holder;
  }
}

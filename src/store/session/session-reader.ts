import type { SessionFields, StoredEvent } from "../../session/store.ts";
import type { DatabaseSync } from "node:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { mayUseAgent, mayUseAll, mayUseFolder, type Principal } from "../../base/principal.ts";
import { Database, HeldTables, type Row } from "../database.ts";
import { fieldsOf, SESSION_MIGRATIONS } from "./session-log.ts";
import { PAGE_SIZE, readPages, readPagesBefore } from "./session-pages.ts";

/** A session as readers see it, without its events. */
export interface ReadSession extends SessionFields {
  /** Number of its last event. */
  readonly last: number;
  /** Id of the living process that has it open. */
  readonly holder: string | undefined;
}

export interface ListRequest {
  /** Only sessions of this owner; "" finds those of the owner of the data folder. */
  readonly owner?: string | undefined;
  readonly runsOnly?: boolean | undefined;
  readonly after?: { readonly id: string; readonly updated: number } | undefined;
  readonly limit: number;
}

/** The position of a reader that follows changes. */
export interface Mark {
  /** Changes with every commit of any process. */
  readonly version: number;
  /** The last page of events. */
  readonly page: number;
}

/** Reads sessions, whichever process writes them. */
export type SessionReading = Pick<SessionReader, keyof SessionReader>;

/** Everything of a session, with the number of its last event. */
const COLUMNS = `SELECT *, (SELECT last FROM session_page WHERE session = session.id
    ORDER BY first DESC LIMIT 1) AS last FROM session`;
const FILE = "sessions.sqlite";
/** Sessions by last use, among which changes without an event are looked for. */
export const RECENT = 100;
/** Events that are read at once. */
const BATCH = 1_000;

/** Whether a data folder has ever had sessions opened. */
export function hasSessions(data: string): boolean {
  return existsSync(join(data, FILE));
}

/**
 * Reads sessions that this and other processes write. It has a connection of its own: `PRAGMA
 * data_version` counts only commits of other connections, and a reader must see those of this process.
 */
export class SessionReader extends HeldTables {
  static async open(data: string): Promise<SessionReader> {
    const path = join(data, FILE);
    const database = await Database.open(path, SESSION_MIGRATIONS, { pageSize: PAGE_SIZE });
    return new SessionReader(database);
  }

  /** Sessions by last use, newest first. */
  list({ owner, runsOnly = false, after, limit }: ListRequest): Promise<ReadSession[]> {
    return this.database.read((database) =>
      database
        .prepare(
          `${COLUMNS} WHERE deleted IS NULL
           AND (?1 IS NULL OR coalesce(json_extract(notes, '$.owner'), '') = ?1)
           AND (?2 = 0 OR json_extract(notes, '$.run') IS NOT NULL)
           AND (?3 IS NULL OR (updated, id) < (?3, (SELECT id FROM session WHERE uuid = ?4)))
           ORDER BY updated DESC, id DESC LIMIT ?5`,
        )
        .all(owner ?? null, runsOnly ? 1 : 0, after?.updated ?? null, after?.id ?? null, limit)
        .map((row) => this.#sessionOf(row)),
    );
  }

  /** Sessions that some process has open. */
  held(): Promise<ReadSession[]> {
    return this.database.read((database) =>
      this.#rows(database, "holder IS NOT NULL AND deleted IS NULL").filter(
        ({ holder }) => holder !== undefined,
      ),
    );
  }

  find(id: string): Promise<ReadSession | undefined> {
    return this.database.read(
      (database) => this.#rows(database, "uuid = ? AND deleted IS NULL", id)[0],
    );
  }

  /** Events from a number on, oldest first; at most `limit`, fewer where they are large. */
  events(id: string, from: number, limit: number): Promise<StoredEvent[]> {
    return this.#read(id, (database, key) => readPages(database, key, from - 1, limit));
  }

  /** The last events before a number, oldest first; at most `limit`, fewer where they are large. */
  eventsBefore(id: string, before: number, limit: number): Promise<StoredEvent[]> {
    return this.#read(id, (database, key) => readPagesBefore(database, key, before, limit));
  }

  #read(
    id: string,
    read: (database: DatabaseSync, key: number) => StoredEvent[],
  ): Promise<StoredEvent[]> {
    return this.database.read((database) => {
      const row = database.prepare("SELECT id FROM session WHERE uuid = ?").get(id);
      return row === undefined ? [] : read(database, Number(row.id));
    });
  }

  /** The current position, from which `changed` reports later changes. */
  mark(): Promise<Mark> {
    return this.database.read(markOf);
  }

  /**
   * Sessions that may have changed since a mark. Undefined if no process has committed anything,
   * which is known without reading a table.
   */
  changed(since: Mark): Promise<{ mark: Mark; sessions: ReadSession[] } | undefined> {
    return this.database.read((database) => {
      if (versionOf(database) === since.version) return undefined;
      const mark = markOf(database);
      const sql = `${COLUMNS} WHERE deleted IS NULL AND id IN (
        SELECT id FROM session WHERE holder IS NOT NULL
        UNION SELECT session FROM session_page WHERE id > ?
        UNION SELECT id FROM (SELECT id FROM session WHERE deleted IS NULL
          ORDER BY updated DESC LIMIT ${RECENT}))`;
      const rows = database.prepare(sql).all(since.page);
      return { mark, sessions: rows.map((row) => this.#sessionOf(row)) };
    });
  }

  #rows(database: DatabaseSync, where: string, ...values: string[]): ReadSession[] {
    return database
      .prepare(`${COLUMNS} WHERE ${where}`)
      .all(...values)
      .map((row) => this.#sessionOf(row));
  }

  #sessionOf(row: Row): ReadSession {
    const holder = row.holder as string | null;
    return {
      ...fieldsOf(row),
      last: Number(row.last ?? 0),
      holder: holder !== null && this.holder.isAlive(holder) ? holder : undefined,
    };
  }
}

/** The only owner whose sessions a principal may see; undefined where it may see all. */
export function onlyOwner(principal: Principal): string | undefined {
  return mayUseAll(principal) ? undefined : principal.id;
}

/** Whether a principal may see a session: the rule by which ACP lets it use one. */
export function maySeeSession(
  principal: Principal,
  { notes, agent, cwd }: Pick<SessionFields, "notes" | "agent" | "cwd">,
): boolean {
  const owner = onlyOwner(principal);
  if (owner !== undefined && (notes.owner ?? "") !== owner) return false;
  return mayUseAgent(principal, agent) && (notes.run !== undefined || mayUseFolder(principal, cwd));
}

/** All events of a session, oldest first. */
export async function* allEvents(reader: SessionReading, id: string): AsyncGenerator<StoredEvent> {
  for (let from = 1; ;) {
    const events = await reader.events(id, from, BATCH);
    const last = events.at(-1);
    if (last === undefined) return;
    yield* events;
    from = last.seq + 1;
  }
}

function markOf(database: DatabaseSync): Mark {
  // The version first: a commit between the two is then seen again, not missed.
  const version = versionOf(database);
  const row = database.prepare("SELECT max(id) AS page FROM session_page").get();
  return { version, page: Number(row?.page ?? 0) };
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA data_version").get()?.data_version);
}

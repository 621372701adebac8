import type { DatabaseSync } from "node:sqlite";

import { Tables } from "../database.ts";
import { sql } from "../sql.ts";
import { cutPages, firstOf, lastOf, type Page, pagesAfter, writePages } from "./session-pages.ts";

/**
 * For sessions that several machines share: the position up to which local events are known to equal
 * the shared ones. It is the first message of the epoch in which this machine last took the session.
 */
export const REPLICAS = `CREATE TABLE session_replica (
     session INTEGER PRIMARY KEY REFERENCES session (id),
     epoch INTEGER NOT NULL,
     sequence INTEGER NOT NULL
   ) STRICT;`;

export interface ReplicaMark {
  readonly epoch: number;
  readonly sequence: number;
}

/** Characters that are read at a time. */
const READ = 256 * 1024;

/** The local events of sessions that several machines share. No session may be open that is changed. */
export class SessionReplicas extends Tables {
  async mark(session: number): Promise<ReplicaMark | undefined> {
    const row = await this.database.get`SELECT * FROM session_replica WHERE session = ${session}`;
    return row && { epoch: Number(row.epoch), sequence: Number(row.sequence) };
  }

  async setMark(session: number, mark: ReplicaMark): Promise<void> {
    await this.database.change((database) => writeMark(database, session, mark));
  }

  /** Number of the last local event. */
  last(session: number): Promise<number> {
    return this.database.read((database) => lastOf(database, session));
  }

  /** Number of the first local event; 1 if there is none. Earlier ones are only where all see them. */
  first(session: number): Promise<number> {
    return this.database.read((database) => firstOf(database, session));
  }

  /** Removes the events after the number `last`, and adds others. Notes up to where they are known. */
  async replace(
    session: number,
    last: number,
    pages: readonly Page[],
    mark?: ReplicaMark,
  ): Promise<void> {
    await this.database.change((database) => {
      cutPages(database, session, last);
      writePages(database, pages);
      if (mark !== undefined) writeMark(database, session, mark);
    });
  }

  /** The events after a number, some at a time. */
  async *after(session: number, after: number): AsyncGenerator<Page> {
    for (let seen = after; ;) {
      const from = seen;
      const pages = await this.database.read((it) => pagesAfter(it, session, from, READ));
      if (pages.length === 0) return;
      yield* pages;
      seen = pages.at(-1)?.last ?? seen;
    }
  }
}

function writeMark(
  database: DatabaseSync,
  session: number,
  { epoch, sequence }: ReplicaMark,
): void {
  sql(database).run`INSERT OR REPLACE INTO session_replica (session, epoch, sequence)
    VALUES (${session}, ${epoch}, ${sequence})`;
}

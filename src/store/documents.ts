import type { DatabaseSync } from "node:sqlite";

import { Database, type Row } from "./database.ts";
import { sql } from "./sql.ts";

/** One change of a document: it was stored or deleted. */
export interface DocumentChange {
  readonly version: number;
  readonly at: Date;
  /** Size in bytes; undefined for a deletion. */
  readonly size: number | undefined;
}

export interface PutDocument {
  readonly content: Uint8Array;
  /** JSON. */
  readonly metadata: string | undefined;
}

export interface DocumentRow extends PutDocument {
  readonly version: number;
}

export interface DocumentEntry extends DocumentChange {
  readonly path: string;
  readonly size: number;
}

export const DOCUMENT_MIGRATIONS = [
  `CREATE TABLE document_change (
     id INTEGER PRIMARY KEY,
     path TEXT NOT NULL,
     version INTEGER NOT NULL,
     at INTEGER NOT NULL,
     content BLOB,
     metadata TEXT,
     UNIQUE (path, version)
   ) STRICT;

   CREATE TRIGGER document_change_is_not_altered BEFORE UPDATE ON document_change
   BEGIN SELECT RAISE(ABORT, 'the history of documents is never altered'); END;

   CREATE TRIGGER document_change_is_not_forgotten BEFORE DELETE ON document_change
   BEGIN SELECT RAISE(ABORT, 'the history of documents is never forgotten'); END;

   -- What the history comes to: the last change of each path.
   CREATE TABLE document (
     path TEXT PRIMARY KEY,
     version INTEGER NOT NULL,
     at INTEGER NOT NULL,
     size INTEGER,
     change INTEGER NOT NULL REFERENCES document_change (id)
   ) STRICT, WITHOUT ROWID;

   CREATE TRIGGER document_follows AFTER INSERT ON document_change
   BEGIN
     INSERT INTO document (path, version, at, size, change)
     VALUES (new.path, new.version, new.at, length(new.content), new.id)
     ON CONFLICT (path) DO UPDATE
     SET version = excluded.version, at = excluded.at, size = excluded.size,
         change = excluded.change;
   END;`,
];

/** Documents with all their versions. Every change is a new row; nothing is overwritten. */
export class Documents implements Disposable {
  readonly #database: Database;

  private constructor(database: Database) {
    this.#database = database;
  }

  static async open(path: string): Promise<Documents> {
    return new Documents(await Database.open(path, DOCUMENT_MIGRATIONS));
  }

  async read(path: string): Promise<DocumentRow | undefined> {
    const row = await this.#database.get`SELECT content, metadata, document.version AS version
      FROM document JOIN document_change ON document_change.id = change
      WHERE document.path = ${path} AND size IS NOT NULL`;
    if (row === undefined) return undefined;
    return {
      content: row.content as Uint8Array,
      metadata: (row.metadata as string | null) ?? undefined,
      version: Number(row.version),
    };
  }

  /**
   * Stores a document and resolves to its new version. `admit` is called inside the transaction with the
   * current version, undefined if there is none; if it throws, nothing is changed.
   */
  put(
    path: string,
    document: PutDocument,
    admit: (present: number | undefined) => void,
  ): Promise<number> {
    return this.#database.change((database) => {
      const { last, isThere } = lastOf(database, path);
      admit(isThere ? last : undefined);
      return append(database, path, last + 1, document);
    });
  }

  /** Deletes a document, if there is one. Its history stays, and later versions count on. */
  delete(path: string): Promise<boolean> {
    return this.#database.change((database) => {
      const { last, isThere } = lastOf(database, path);
      if (isThere) append(database, path, last + 1, undefined);
      return isThere;
    });
  }

  /** The document at this path and all below it; all documents for an empty path. */
  list(folder: string): Promise<DocumentEntry[]> {
    return this.#database.read((database) => {
      // Paths in a folder sort after `folder/` and before `folder0`, since '0' follows '/'.
      const isIn =
        folder === "" ? "TRUE" : "(path = ?1 OR (path >= ?1 || '/' AND path < ?1 || '0'))";
      return database
        .prepare(
          `SELECT path, version, at, size FROM document
           WHERE size IS NOT NULL AND ${isIn} ORDER BY path`,
        )
        .all(...(folder === "" ? [] : [folder]))
        .map((row) => ({ path: String(row.path), ...changeOf(row), size: Number(row.size) }));
    });
  }

  /** All changes of a document, oldest first. */
  async history(path: string): Promise<DocumentChange[]> {
    const rows = await this.#database.all`SELECT version, at, length(content) AS size
      FROM document_change WHERE path = ${path} ORDER BY version`;
    return rows.map(changeOf);
  }

  [Symbol.dispose](): void {
    this.#database[Symbol.dispose]();
  }
}

function lastOf(database: DatabaseSync, path: string): { last: number; isThere: boolean } {
  const row = sql(database).get`SELECT version, size FROM document WHERE path = ${path}`;
  if (row === undefined) return { last: 0, isThere: false };
  return { last: Number(row.version), isThere: row.size !== null };
}

function append(
  database: DatabaseSync,
  path: string,
  version: number,
  document: PutDocument | undefined,
): number {
  sql(database).run`INSERT INTO document_change (path, version, at, content, metadata)
    VALUES (${path}, ${version}, ${Date.now()}, ${document?.content ?? null},
    ${document?.metadata ?? null})`;
  return version;
}

function changeOf(row: Row): DocumentChange {
  return {
    version: Number(row.version),
    at: new Date(Number(row.at)),
    size: row.size === null ? undefined : Number(row.size),
  };
}

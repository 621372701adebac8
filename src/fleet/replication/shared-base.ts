import { hash } from "node:crypto";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Database } from "../../store/database.ts";

/** A row of a store as all nodes have it; undefined where the row is deleted. */
export type SharedText = string | undefined;

export interface SharedRows {
  readonly rows: ReadonlyMap<string, string>;
  /** All rows of the store are there, so that a row that is missing was deleted. */
  readonly isWhole: boolean;
  /** The store is gone, as after damage. Its rows were not deleted: it gets those of the others again. */
  readonly isLost?: boolean;
  /** Up to where the store was read. */
  readonly end?: unknown;
}

/** Returns the new text of a row; gets its current text. */
export type RowUpdate = (key: string, local: SharedText) => SharedText;

/**
 * A store whose rows all nodes of a fleet share, such as the access tokens. Each node has its own store,
 * which several processes change; a row is a text under a key. The text has nothing that belongs to one
 * machine, such as a row number or a secret.
 */
export interface SharedKind {
  /** A word, which is part of subjects in NATS. */
  readonly name: string;
  /** Differs after each change of the store. Asked several times a second. */
  stamp(): unknown;
  /** The rows that may have changed since an earlier `end`; without one, all. */
  read(since?: unknown): Promise<SharedRows>;
  /**
   * Changes rows in one transaction: `decide` gets the row as it is then, and says how it is to be.
   * Returns the rows as they are afterwards, which differs where this version cannot keep a text.
   */
  change(keys: readonly string[], decide: RowUpdate): Promise<ReadonlyMap<string, SharedText>>;
  /** The row where one was changed here and meanwhile also elsewhere. What it returns differs from `shared` only if that is to be sent. */
  merge(local: SharedText, shared: SharedText): SharedText;
}

/** A kind whose rows are in a database. */
export abstract class DatabaseKind implements SharedKind {
  abstract readonly name: string;
  protected readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  abstract read(since?: unknown): Promise<SharedRows>;
  abstract merge(local: SharedText, shared: SharedText): SharedText;
  protected abstract find(database: DatabaseSync, key: string): SharedText;
  /** Changes a row. Leaves it as it is where this version does not understand the text. */
  protected abstract write(database: DatabaseSync, key: string, next: SharedText): void;

  change(keys: readonly string[], decide: RowUpdate): Promise<ReadonlyMap<string, SharedText>> {
    return this.database.change((database) => {
      const changed = new Map<string, SharedText>();
      for (const key of keys) {
        const before = this.find(database, key);
        const next = decide(key, before);
        if (next !== before) this.write(database, key, next);
        changed.set(key, this.find(database, key));
      }
      return changed;
    });
  }

  /** Changes with every commit of another connection to the database. */
  stamp(): Promise<unknown> {
    return this.database.read((database) =>
      Number(database.prepare("PRAGMA data_version").get()?.data_version),
    );
  }
}

/** The same text for equal objects, whatever the order of their fields. */
export function rowText(row: object): string {
  const fields = Object.entries(row).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** In the data folder: up to where this node has read what all share. */
export const SHARED_FILE = "shared.sqlite";

export const SHARED_MIGRATIONS = [
  `CREATE TABLE stream (
     part TEXT PRIMARY KEY,
     -- Its name and when it was created: one that was created again has other messages.
     stream TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE kind (
     part TEXT NOT NULL,
     name TEXT NOT NULL,
     -- The last message that this node has read.
     seq INTEGER NOT NULL,
     PRIMARY KEY (part, name)
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE entry (
     part TEXT NOT NULL,
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     -- The last message of this row; of a file of the audit, the bytes of it that were sent.
     seq INTEGER NOT NULL,
     -- Hash of the local row that belongs to it. A row with another hash was changed here since.
     local TEXT NOT NULL,
     PRIMARY KEY (part, kind, key)
   ) STRICT, WITHOUT ROWID;`,
];

/** Each part has its own stream: what all nodes share, what only gateways share, and the audit. */
export type SharedPart = "state" | "tokens" | "audit";

export interface Entry {
  /** The last message of the row; 0 while there may be none (`isPending`). */
  readonly seq: number;
  readonly local: string;
}

/** Whether the first message of a new row may not have been sent. */
export function isPending({ seq }: Entry): boolean {
  return seq === 0;
}

/**
 * The state that this node and the others last agreed on, row by row. A local row that differs was changed
 * since then, perhaps by a process that does not know of the fleet, or while NATS could not be reached. So
 * the stores themselves are the queue of changes that are still to be sent, and no change can be forgotten.
 */
export class SharedBase implements Disposable {
  readonly #database: Database;
  readonly #part: string;

  private constructor(database: Database, part: string) {
    this.#database = database;
    this.#part = part;
  }

  static async open(data: string, part: SharedPart): Promise<SharedBase> {
    return new SharedBase(await Database.open(join(data, SHARED_FILE), SHARED_MIGRATIONS), part);
  }

  /** Forgets what was agreed on if it was with another stream, so that this node joins it anew. */
  begin(stream: string, created: string): Promise<"goes on" | "joins"> {
    return this.#database.change((database) => {
      const part = this.#part;
      const known = database.prepare("SELECT stream FROM stream WHERE part = ?").get(part);
      const now = `${stream} ${created}`;
      if (known?.stream === now) return "goes on";
      for (const table of ["stream", "kind", "entry"]) {
        database.prepare(`DELETE FROM ${table} WHERE part = ?`).run(part);
      }
      database.prepare("INSERT INTO stream (part, stream) VALUES (?, ?)").run(part, now);
      return "joins";
    });
  }

  /** The last message that was read of each of these kinds. */
  read(kinds: readonly string[]): Promise<Map<string, number>> {
    return this.#database.read((database) => {
      const query = database.prepare("SELECT seq FROM kind WHERE part = ? AND name = ?");
      return new Map(kinds.map((kind) => [kind, Number(query.get(this.#part, kind)?.seq ?? 0)]));
    });
  }

  /** The entries of a kind: those of these keys, or all. */
  entries(kind: string, keys?: Iterable<string>): Promise<Map<string, Entry>> {
    return this.#database.read((database) => {
      const found = new Map<string, Entry>();
      const query = "SELECT key, seq, local FROM entry WHERE part = ? AND kind = ?";
      const one = database.prepare(`${query} AND key = ?`);
      if (keys === undefined) {
        for (const { key, seq, local } of database.prepare(query).all(this.#part, kind)) {
          found.set(String(key), { seq: Number(seq), local: String(local) });
        }
        return found;
      }
      for (const key of keys) {
        const row = one.get(this.#part, kind, key);
        if (row !== undefined) found.set(key, { seq: Number(row.seq), local: String(row.local) });
      }
      return found;
    });
  }

  /** Notes what was agreed on, and up to which message each kind was read. */
  async note(
    agreed: ReadonlyMap<string, ReadonlyMap<string, Entry>>,
    read: ReadonlyMap<string, number> = new Map(),
  ): Promise<void> {
    await this.#database.change((database) => {
      const put = database.prepare(
        `INSERT INTO entry (part, kind, key, seq, local) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET seq = excluded.seq, local = excluded.local`,
      );
      for (const [kind, entries] of agreed) {
        for (const [key, { seq, local }] of entries) put.run(this.#part, kind, key, seq, local);
      }
      const move = database.prepare(
        `INSERT INTO kind (part, name, seq) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)`,
      );
      for (const [kind, seq] of read) move.run(this.#part, kind, seq);
    });
  }

  /** Whether something was agreed on about a kind. It is forgotten, so that this node joins it anew. */
  forget(kind: string): Promise<boolean> {
    return this.#database.change((database) => {
      const part = this.#part;
      database.prepare("DELETE FROM kind WHERE part = ? AND name = ?").run(part, kind);
      const { changes } = database
        .prepare("DELETE FROM entry WHERE part = ? AND kind = ?")
        .run(part, kind);
      return Number(changes) > 0;
    });
  }

  [Symbol.dispose](): void {
    this.#database[Symbol.dispose]();
  }
}

/** The hash of a row; empty for a deleted row. */
export function markOf(text: SharedText): string {
  return text === undefined ? "" : hash("sha256", text, "base64url");
}

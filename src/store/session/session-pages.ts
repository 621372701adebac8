import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Direction = "client" | "agent";

/** One stored event: number in its session, time, direction and message. */
export interface LoggedEvent {
  readonly seq: number;
  readonly at: number;
  readonly direction: Direction;
  readonly message: unknown;
}

/** The events of one session in one commit. */
export interface Page {
  readonly session: number;
  readonly first: number;
  last: number;
  /** One line per event: `[seq,at,"direction",message]`. */
  lines: string;
}

/**
 * Each commit adds one row per session, not one per event, which would cost most of the time while text
 * streams. Rows are in order of their commits, so that a commit touches few pages of the file.
 */
export const PAGES = `CREATE TABLE session_page (
     id INTEGER PRIMARY KEY,
     session INTEGER NOT NULL REFERENCES session (id),
     first INTEGER NOT NULL,
     last INTEGER NOT NULL,
     lines TEXT NOT NULL
   ) STRICT;

   CREATE UNIQUE INDEX session_page_order ON session_page (session, first);

   CREATE TRIGGER session_page_is_not_altered BEFORE UPDATE ON session_page
   BEGIN SELECT RAISE(ABORT, 'what was said is never altered'); END;`;

/**
 * Rows have some kilobytes, so larger pages than SQLite's default cost less. Each commit also writes one
 * index page per session, so even larger ones cost more again.
 */
export const PAGE_SIZE = 8192;

let stamp = { at: 0, agent: "", client: "" };

/** The line of an event that happens now. */
export function lineOf(seq: number, direction: Direction, text: string): string {
  const at = Date.now();
  // Many events happen in one millisecond, so the text is cached.
  if (at !== stamp.at) stamp = { at, agent: `,${at},"agent",`, client: `,${at},"client",` };
  return `[${seq}${stamp[direction]}${text}]\n`;
}

const statements = new WeakMap<DatabaseSync, StatementSync>();

export function writePages(database: DatabaseSync, pages: Iterable<Page>): void {
  let insert = statements.get(database);
  if (insert === undefined) {
    insert = database.prepare(
      "INSERT INTO session_page (session, first, last, lines) VALUES (?, ?, ?, ?)",
    );
    statements.set(database, insert);
  }
  for (const { session, first, last, lines } of pages) insert.run(session, first, last, lines);
}

/** The next events after `after`, in whole rows, until about so many characters are read. */
export function readPages(
  database: DatabaseSync,
  session: number,
  after: number,
  characters: number,
): LoggedEvent[] {
  const rows = database
    .prepare("SELECT lines FROM session_page WHERE session = ? AND last > ? ORDER BY first")
    .iterate(session, after);
  const events: LoggedEvent[] = [];
  let read = 0;
  for (const { lines } of rows) {
    for (const line of String(lines).split("\n")) {
      if (line === "") continue;
      const [seq, at, direction, message] = JSON.parse(line) as [
        number,
        number,
        Direction,
        unknown,
      ];
      if (seq > after) events.push({ seq, at, direction, message });
    }
    read += String(lines).length;
    if (read >= characters) break;
  }
  return events;
}

export function lastOf(database: DatabaseSync, session: number): number {
  const row = database
    .prepare("SELECT last FROM session_page WHERE session = ? ORDER BY first DESC LIMIT 1")
    .get(session);
  return Number(row?.last ?? 0);
}

/** Copies the events of a session up to `upTo` into another, empty one. */
export function copyPages(database: DatabaseSync, from: number, to: number, upTo: number): void {
  const end = Number.isSafeInteger(upTo) ? upTo : Number.MAX_SAFE_INTEGER;
  database
    .prepare(
      `INSERT INTO session_page (session, first, last, lines)
       SELECT ?, first, last, lines FROM session_page WHERE session = ? AND last <= ?`,
    )
    .run(to, from, end);
  const cut = database
    .prepare("SELECT first, lines FROM session_page WHERE session = ? AND first <= ? AND last > ?")
    .get(from, end, end);
  if (cut === undefined) return;
  const first = Number(cut.first);
  const lines = String(cut.lines).split("\n", end - first + 1);
  writePages(database, [{ session: to, first, last: end, lines: `${lines.join("\n")}\n` }]);
}

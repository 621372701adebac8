import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Direction = "client" | "agent";

/** One event as it is kept: its number in its session, when, from whom, and its JSON text. */
export interface LoggedEvent {
  readonly seq: number;
  readonly at: number;
  readonly direction: Direction;
  readonly message: unknown;
}

/** What one session has to say in one commit. */
export interface Page {
  readonly session: number;
  readonly first: number;
  last: number;
  /** A line for each event: `[seq,at,"direction",message]`. */
  lines: string;
}

/**
 * Each commit adds one row for each session that said something, not one for each event: while
 * words stream, that is what most of the time would go into. Rows are in the order of their commits,
 * so that one commit fills few pages of the file; kept by session, each would touch one of its own.
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
 * Rows are of some kilobytes, so that fewer and larger pages cost less. Each commit also writes a
 * page of the index for each session, which is why still larger ones cost more again.
 */
export const PAGE_SIZE = 8192;

let stamp = { at: 0, agent: "", client: "" };

/** The line of an event that happens now. */
export function lineOf(seq: number, direction: Direction, text: string): string {
  const at = Date.now();
  // Many happen in one millisecond.
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

/** The events of the next rows after `seq`, about so many characters of them. */
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

/** Copies what was said in one session up to an event into another, which is empty. */
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

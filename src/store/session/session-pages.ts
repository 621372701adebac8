import type { StoredEvent } from "../../session/store.ts";
import type { DatabaseSync } from "node:sqlite";

import { sql } from "../sql.ts";

export type Direction = "client" | "agent";

/** The events of one session in one commit. */
export interface Page {
  readonly session: number;
  readonly first: number;
  last: number;
  /**
   * One line per event: `[seq,at,"direction",message]`. An event that differs from the one before it in its
   * text alone, as most do while an agent speaks, has only that: `[later,"text"]`, with the milliseconds
   * since then. The text is `update.content.text` of the message. The first line of a page is whole.
   */
  lines: string;
}

/** A page of a session that this process holds. */
export interface HeldPage extends Page {
  readonly epoch: number;
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

/**
 * The rows with events of the session ?1 after the number ?2. The index has only the first number of each
 * row, so it is searched for the row with the next event.
 */
const AFTER = `FROM session_page WHERE session = ?1 AND last > ?2 AND first >= coalesce(
    (SELECT max(first) FROM session_page WHERE session = ?1 AND first <= ?2 + 1), 0)
  ORDER BY first`;

/** Migration: earlier versions cannot read lines with only a text, and refuse the file by its version. */
export const TEXT_LINES = "-- The table stays as it is.";

/** The line of an event, whose message is JSON. */
export function lineOf(
  seq: number,
  direction: Direction,
  message: string,
  at = Date.now(),
): string {
  return `[${seq},${at},"${direction}",${message}]\n`;
}

/** The line of an event that differs from the one before it in its text alone, which is JSON. */
export function textLineOf(text: string, later: number): string {
  return `[${later},${text}]\n`;
}

/**
 * The events of lines. All are parsed at once, as one flat array, which takes half as long as one by one.
 * JSON has line feeds only between values, so none is replaced within an event.
 */
export function eventsIn(lines: string): StoredEvent[] {
  const values = JSON.parse(lines.trimEnd().replaceAll("]\n[", ",") || "[]") as unknown[];
  const events: StoredEvent[] = [];
  let before: StoredEvent | undefined;
  for (let next = 0; next < values.length;) {
    const first = values[next++] as number;
    const second = values[next++];
    if (before !== undefined && typeof second === "string") {
      before = withText(before, first, second);
    } else {
      const direction = values[next++] as Direction;
      before = { seq: first, at: second as number, direction, message: values[next++] };
    }
    events.push(before);
  }
  return events;
}

/** The event after another, from which it differs in its text alone. */
function withText({ seq, at, direction, message }: StoredEvent, later: number, text: string) {
  const said = message as { readonly update: { readonly content: object } };
  const update = { ...said.update, content: { ...said.update.content, text } };
  return { seq: seq + 1, at: at + later, direction, message: { ...said, update } };
}

export function writePages(database: DatabaseSync, pages: Iterable<Page>): void {
  for (const { session, first, last, lines } of pages) {
    sql(database).run`INSERT INTO session_page (session, first, last, lines)
      VALUES (${session}, ${first}, ${last}, ${lines})`;
  }
}

/** Writes the pages of sessions that nobody has taken since, by their epoch. Returns the other pages. */
export function writeHeldPages<P extends HeldPage>(
  database: DatabaseSync,
  pages: Iterable<P>,
): P[] {
  return [...pages].filter(({ session, epoch, first, last, lines }) => {
    const { changes } = sql(database).run`INSERT INTO session_page (session, first, last, lines)
      SELECT id, ${first}, ${last}, ${lines} FROM session
      WHERE id = ${session} AND epoch = ${epoch}`;
    return changes === 0;
  });
}

/** Characters of events that are read at a time, at least. */
export const READ = 96 * 1024;

/** The next events after `after`, oldest first; at most `limit`, fewer where they are large. */
export function readPages(
  database: DatabaseSync,
  session: number,
  after: number,
  limit = Infinity,
): StoredEvent[] {
  const statement = database.prepare(`SELECT lines, last ${AFTER}`);
  // Rows as objects take twice as long.
  statement.setReturnArrays(true);
  let text = "";
  for (const row of statement.iterate(session, after)) {
    const [lines, last] = row as unknown as [string, number];
    text += lines;
    if (text.length >= READ || last - after >= limit) break;
  }
  const events = eventsIn(text).filter(({ seq }) => seq > after);
  return limit === Infinity ? events : events.slice(0, limit);
}

/** The last events before a number, oldest first; at most `limit`, fewer where they are large. */
export function readPagesBefore(
  database: DatabaseSync,
  session: number,
  before: number,
  limit: number,
): StoredEvent[] {
  const rows = sql(database).iterate`SELECT lines, first FROM session_page
    WHERE session = ${session} AND first < ${before} ORDER BY first DESC`;
  let text = "";
  for (const { lines, first } of rows) {
    text = `${String(lines)}${text}`;
    if (text.length >= READ || before - Number(first) >= limit) break;
  }
  return eventsIn(text)
    .filter(({ seq }) => seq < before)
    .slice(-limit);
}

/** Number of the first event; 1 if there is none. */
export function firstOf(database: DatabaseSync, session: number): number {
  const row = sql(database).get`SELECT first FROM session_page
    WHERE session = ${session} ORDER BY first LIMIT 1`;
  return Number(row?.first ?? 1);
}

export function lastOf(database: DatabaseSync, session: number): number {
  const row = sql(database).get`SELECT last FROM session_page
    WHERE session = ${session} ORDER BY first DESC LIMIT 1`;
  return Number(row?.last ?? 0);
}

/** Copies the events of a session up to `upTo` into another, empty one. */
export function copyPages(database: DatabaseSync, from: number, to: number, upTo: number): void {
  const end = Number.isSafeInteger(upTo) ? upTo : Number.MAX_SAFE_INTEGER;
  sql(database).run`INSERT INTO session_page (session, first, last, lines)
    SELECT ${to}, first, last, lines FROM session_page WHERE session = ${from} AND last <= ${end}`;
  writePages(database, beginningOf(database, from, end, to));
}

/** The page that a number cuts in two, up to that number, as a page of the session `to`. */
function beginningOf(database: DatabaseSync, from: number, last: number, to: number): Page[] {
  const cut = sql(database).get`SELECT first, lines FROM session_page
    WHERE session = ${from} AND first <= ${last} AND last > ${last}`;
  if (cut === undefined) return [];
  const first = Number(cut.first);
  const lines = String(cut.lines).split("\n", last - first + 1);
  return [{ session: to, first, last, lines: `${lines.join("\n")}\n` }];
}

/** Removes the events of a session after the number `last`. */
export function cutPages(database: DatabaseSync, session: number, last: number): void {
  const kept = beginningOf(database, session, last, session);
  sql(database).run`DELETE FROM session_page WHERE session = ${session} AND last > ${last}`;
  writePages(database, kept);
}

function wholeLines(events: readonly StoredEvent[]): string {
  return events
    .map(({ seq, direction, message, at }) => lineOf(seq, direction, JSON.stringify(message), at))
    .join("");
}

/** The events of a session after the number `after`, as they are stored; stops after about `characters`. */
export function pagesAfter(
  database: DatabaseSync,
  session: number,
  after: number,
  characters: number,
): Page[] {
  const rows = database.prepare(`SELECT first, last, lines ${AFTER}`).iterate(session, after);
  const pages: Page[] = [];
  let read = 0;
  for (const row of rows) {
    const first = Math.max(Number(row.first), after + 1);
    const skipped = first - Number(row.first);
    const text = String(row.lines);
    const lines = skipped === 0 ? text : wholeLines(eventsIn(text).slice(skipped));
    pages.push({ session, first, last: Number(row.last), lines });
    read += lines.length;
    if (read >= characters) break;
  }
  return pages;
}

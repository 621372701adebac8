import type { DatabaseSync } from "node:sqlite";

import type { Holder } from "../holder.ts";
import { sql } from "../sql.ts";
import type { Message } from "./review-thread.ts";
import { messageOf } from "./reviews-rows.ts";
import type { SentJournal } from "./sent-journal.ts";

export interface DeliveryRequest {
  readonly reader: string;
  /** Git folder of the repository; all repositories when left out. */
  readonly gitDir?: string | undefined;
  readonly limit: number;
  /** Which messages to take if there are more. The result is always in order of creation. */
  readonly first: "newest" | "oldest";
  /** The last answer that the reader has received, if it says so. */
  readonly after?: string | undefined;
}

/** Messages for a reader, and the id of the answer that they are delivered in. */
export interface Delivery {
  readonly id: string;
  readonly reader: string;
  readonly messages: readonly Message[];
}

const MESSAGES = `SELECT event.seq, event.body, event.at AS said_at, event.author AS said_by,
    thread.id, thread.anchor, thread.severity, thread.suggestion, git_dir, root
  FROM event JOIN thread ON thread.id = event.thread
  JOIN repository ON repository.id = event.message_in`;

/**
 * Takes the next messages for a reader. No other process gets them for this reader, until they are taken
 * back or this process dies before they were sent.
 */
export function takeMessages(
  database: DatabaseSync,
  request: DeliveryRequest,
  holder: Holder,
  journal: Pick<SentJournal, "notedBy">,
): Delivery {
  const { reader, gitDir, limit, first, after } = request;
  if (after !== undefined) acknowledge(database, reader, after);
  bringBack(database, request, holder, journal);
  const rows = database
    .prepare(
      `${MESSAGES}
       WHERE event.message_in IS NOT NULL AND thread.state <> 'resolved'
         AND (?2 IS NULL OR git_dir = ?2)
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE reader = ?1 AND message = event.seq)
       ORDER BY event.seq ${first === "newest" ? "DESC" : "ASC"} LIMIT ?3`,
    )
    .all(reader, gitDir ?? null, limit);
  const messages = rows.map(messageOf).toSorted((one, other) => one.seq - other.seq);
  const id = crypto.randomUUID();
  for (const { seq } of messages) {
    sql(database).run`INSERT INTO delivery (reader, message, holder, at, answer)
      VALUES (${reader}, ${seq}, ${holder.id}, ${Date.now()}, ${id})`;
  }
  return { id, reader, messages };
}

/** The reader has received this answer, whatever became of the process that sent it. */
function acknowledge(database: DatabaseSync, reader: string, answer: string): void {
  sql(database).run`UPDATE delivery SET sent = 1 WHERE reader = ${reader} AND answer = ${answer}`;
  // Another client with the same name may have brought its messages back, but not taken them yet.
  sql(database).run`INSERT OR IGNORE INTO delivery (reader, message, holder, at, sent, answer)
    SELECT reader, message, '', ${Date.now()}, 1, answer FROM doubtful_delivery
    WHERE reader = ${reader} AND answer = ${answer}`;
}

/** Number of messages that wait for a reader. */
export function countWaiting(database: DatabaseSync, reader: string, gitDir?: string): number {
  const row = sql(database).get`SELECT count(*) AS count FROM event JOIN thread
    ON thread.id = event.thread
    JOIN repository ON repository.id = event.message_in
    WHERE event.message_in IS NOT NULL AND thread.state <> 'resolved'
    AND (${gitDir ?? null} IS NULL OR git_dir = ${gitDir ?? null})
    AND NOT EXISTS (SELECT 1 FROM delivery WHERE reader = ${reader} AND message = event.seq)`;
  return Number(row?.count);
}

/** Records that these messages were sent. */
export function markSent(
  database: DatabaseSync,
  reader: string,
  messages: readonly number[],
): void {
  for (const message of messages) {
    sql(database).run`UPDATE delivery SET sent = 1 WHERE reader = ${reader}
      AND message = ${message}`;
  }
}

/** Records that these messages were not sent, so that they wait again. */
export function takeBack(
  database: DatabaseSync,
  reader: string,
  messages: readonly number[],
): void {
  for (const message of messages) {
    sql(database).run`DELETE FROM delivery
      WHERE reader = ${reader} AND message = ${message} AND sent = 0`;
  }
}

/** Messages after a given one, in order. */
export function messagesAfter(database: DatabaseSync, seq: number, gitDir?: string): Message[] {
  return database
    .prepare(
      `${MESSAGES}
       WHERE event.message_in IS NOT NULL AND event.seq > ? AND (?2 IS NULL OR git_dir = ?2)
       ORDER BY event.seq`,
    )
    .all(seq, gitDir ?? null)
    .map(messageOf);
}

/**
 * Requeues messages that a dead process took but did not send. If it died while sending them, nobody
 * knows whether they arrived: they are requeued once. A reader that acknowledges answers has not
 * acknowledged this one, so for it they are always requeued.
 */
function bringBack(
  database: DatabaseSync,
  { reader, after }: DeliveryRequest,
  holder: Holder,
  journal: Pick<SentJournal, "notedBy">,
): void {
  const rows = sql(database).all`SELECT DISTINCT holder FROM delivery
    WHERE reader = ${reader} AND sent = 0`;
  for (const row of rows) {
    const other = String(row.holder);
    if (holder.isAlive(other)) continue;
    const { sent, leaving } = journal.notedBy(other, reader);
    markSent(database, reader, [...sent]);
    for (const message of leaving) {
      const before = sql(database).get`SELECT 1 FROM doubtful_delivery
        WHERE reader = ${reader} AND message = ${message}`;
      if (before !== undefined && after === undefined) markSent(database, reader, [message]);
      else {
        sql(database).run`INSERT INTO doubtful_delivery (reader, message, answer)
          SELECT reader, message, answer FROM delivery
          WHERE reader = ${reader} AND message = ${message} AND sent = 0
          ON CONFLICT DO UPDATE SET answer = excluded.answer`;
      }
    }
    sql(database).run`DELETE FROM delivery WHERE reader = ${reader} AND holder = ${other}
      AND sent = 0`;
  }
}

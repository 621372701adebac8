import type { DatabaseSync } from "node:sqlite";

import type { Holder } from "../holder.ts";
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
  journal: Pick<SentJournal, "sentBy">,
): Message[] {
  const { reader, gitDir, limit, first } = request;
  bringBack(database, reader, holder, journal);
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
  const insert = database.prepare(
    "INSERT INTO delivery (reader, message, holder, at) VALUES (?, ?, ?, ?)",
  );
  for (const { seq } of messages) insert.run(reader, seq, holder.id, Date.now());
  return messages;
}

/** Number of messages that wait for a reader. */
export function countWaiting(database: DatabaseSync, reader: string, gitDir?: string): number {
  const row = database
    .prepare(
      `SELECT count(*) AS count FROM event JOIN thread ON thread.id = event.thread
       JOIN repository ON repository.id = event.message_in
       WHERE event.message_in IS NOT NULL AND thread.state <> 'resolved'
         AND (?2 IS NULL OR git_dir = ?2)
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE reader = ?1 AND message = event.seq)`,
    )
    .get(reader, gitDir ?? null);
  return Number(row?.count);
}

/** Records that these messages were sent. */
export function markSent(
  database: DatabaseSync,
  reader: string,
  messages: readonly number[],
): void {
  const update = database.prepare("UPDATE delivery SET sent = 1 WHERE reader = ? AND message = ?");
  for (const message of messages) update.run(reader, message);
}

/** Records that these messages were not sent, so that they wait again. */
export function takeBack(
  database: DatabaseSync,
  reader: string,
  messages: readonly number[],
): void {
  const remove = database.prepare(
    "DELETE FROM delivery WHERE reader = ? AND message = ? AND sent = 0",
  );
  for (const message of messages) remove.run(reader, message);
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

/** Messages that a dead process took but did not send wait again. */
function bringBack(
  database: DatabaseSync,
  reader: string,
  holder: Holder,
  journal: Pick<SentJournal, "sentBy">,
): void {
  const rows = database
    .prepare("SELECT DISTINCT holder FROM delivery WHERE reader = ? AND sent = 0")
    .all(reader);
  for (const row of rows) {
    const other = String(row.holder);
    if (holder.isAlive(other)) continue;
    markSent(database, reader, [...journal.sentBy(other, reader)]);
    database
      .prepare("DELETE FROM delivery WHERE reader = ? AND holder = ? AND sent = 0")
      .run(reader, other);
  }
}

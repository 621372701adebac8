import type { DatabaseSync } from "node:sqlite";

import { Tables } from "../database.ts";
import { sql } from "../sql.ts";
import { append, eventOf, insertThread, type NewThread } from "./reviews-rows.ts";
import type { ThreadEvent, ThreadState } from "./review-thread.ts";

/** A thread of a forge that is to be stored. Its fingerprint is its id at the forge. */
export interface RemoteToKeep {
  readonly thread: NewThread & { readonly fingerprint: string };
  readonly comments: readonly {
    /** Unique in its thread. */
    readonly id: string;
    readonly by: string;
    /** Milliseconds since 1970. */
    readonly at: number;
    readonly text: string;
  }[];
  /** Undefined if that is not known. */
  readonly isResolved?: boolean | undefined;
}

/** Events of a thread that its forge does not know yet. */
export interface OwedRemote {
  readonly thread: string;
  /** Its id at the forge. */
  readonly key: string;
  readonly says: readonly ThreadEvent[];
  readonly isResolved: boolean;
  /** The state at the forge when it was last read. */
  readonly wasResolved: boolean;
}

/** Threads that are also on a forge. */
export class RemoteThreads extends Tables {
  /** Adds new threads, and new comments of known ones. */
  keep(remotes: readonly RemoteToKeep[]) {
    return this.database.change((database) =>
      remotes.map((remote) => keepRemote(database, remote, this.now())),
    );
  }

  /** The ids of a repository's threads that no forge has. */
  async local(gitDir: string): Promise<ReadonlySet<string>> {
    const rows = await this.database.all`SELECT thread.id FROM thread
      JOIN repository ON repository.id = thread.repository WHERE git_dir = ${gitDir}
      AND NOT EXISTS (SELECT 1 FROM remote_thread WHERE remote_thread.thread = thread.id)`;
    return new Set(rows.map(({ id }) => String(id)));
  }

  /** Events of a repository's threads that their forges do not know yet. */
  owed(gitDir: string): Promise<OwedRemote[]> {
    return this.database.read((database) => owedRemote(database, gitDir));
  }

  async notePosted(thread: string, comment: string, event: number): Promise<void> {
    await this.database.change((database) => notePosted(database, thread, comment, event));
  }

  async noteResolved(thread: string, isResolved: boolean): Promise<void> {
    await this.database.change((database) => noteResolved(database, thread, isResolved));
  }
}

function keepRemote(
  database: DatabaseSync,
  { thread, comments, isResolved }: RemoteToKeep,
  now: number,
) {
  const [first, ...replies] = comments;
  if (first !== undefined) adopt(database, thread.fingerprint, first);
  const { id, isNew } = insertThread(database, thread, now);
  const row = sql(database).get`SELECT opened, state, repository, is_resolved FROM thread
    LEFT JOIN remote_thread ON thread.id = remote_thread.thread WHERE id = ${id}`;
  let state = row?.state as ThreadState;
  const before = state;
  if (isNew && first !== undefined) notePosted(database, id, first.id, Number(row?.opened));
  let count = 0;
  for (const reply of replies) {
    const known = sql(database).get`SELECT 1 FROM remote_comment WHERE thread = ${id}
      AND comment = ${reply.id}`;
    if (known !== undefined) continue;
    const own = ownEvent(database, id, reply.text);
    const messageIn = Number(row?.repository);
    const said = { thread: id, kind: "replied", role: "person" } as const;
    notePosted(database, id, reply.id, own ?? append(database, { ...said, ...reply, messageIn }));
    if (own !== undefined) continue;
    count++;
    if (state === "answered" || state === "proposed") state = "reopened";
  }
  const was = row?.is_resolved === null ? undefined : row?.is_resolved === 1;
  if (isResolved !== undefined && isResolved !== was) {
    const event = { thread: id, at: now, by: thread.source, role: "person" } as const;
    if (isResolved && state !== "resolved") {
      append(database, { ...event, kind: "resolved" });
      state = "resolved";
    } else if (!isResolved && was === true && state === "resolved") {
      append(database, { ...event, kind: "reopened" });
      state = "reopened";
    }
  }
  noteResolved(database, id, isResolved ?? was ?? false);
  if (state !== before) {
    sql(database).run`UPDATE thread SET state = ${state}, updated = ${now}, agent = NULL, holder
      = NULL, client = NULL, lease = NULL WHERE id = ${id}`;
  }
  // The replies that were not known.
  return { id, isNew, replies: count };
}

/** Makes a thread of the forge out of one that was written here and posted, which its first comment shows. */
function adopt(
  database: DatabaseSync,
  fingerprint: string,
  { id, text }: RemoteToKeep["comments"][number],
): void {
  const thread = MARK.exec(text)?.[1];
  const event = thread === undefined ? undefined : ownEvent(database, thread, text);
  if (thread === undefined || event === undefined) return;
  const { changes } = sql(database).run`UPDATE thread SET fingerprint = ${fingerprint}
    WHERE id = ${thread} AND opened = ${event}
    AND NOT EXISTS (SELECT 1 FROM remote_thread WHERE thread = ${thread})`;
  if (changes > 0) notePosted(database, thread, id, event);
}

/**
 * The event that a comment was posted for, by the mark that it ends with. The text has to be the same,
 * since others may copy the mark. Another node of a fleet gives the event another number.
 */
function ownEvent(database: DatabaseSync, thread: string, text: string): number | undefined {
  const mark = MARK.exec(text);
  if (mark === null || mark[1] !== thread) return undefined;
  const posted = visibleOnly(text.slice(0, mark.index));
  const own = sql(database).all`SELECT * FROM event WHERE thread = ${thread}`
    .map(eventOf)
    .filter(({ text: said, proposal }) =>
      posted.startsWith(visibleOnly(said ?? proposal?.text ?? "")),
    );
  const isPosted = ({ text: said = "" }: ThreadEvent): boolean => visibleOnly(said) === posted;
  return (own.find(({ seq }) => seq === Number(mark[2])) ?? own.find(isPosted))?.seq;
}

/** What a posted comment ends with: its thread and event. */
const MARK = /(?<!\s)\s*<!-- trunkline:([0-9a-z]+)\/(\d+) -->\s*$/;

/** The text without invisible characters, since some are added before it is posted. */
function visibleOnly(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, "");
}

export function notePosted(
  database: DatabaseSync,
  thread: string,
  comment: string,
  event: number,
): void {
  sql(database).run`INSERT OR IGNORE INTO remote_comment (thread, comment, event)
    VALUES (${thread}, ${comment}, ${event})`;
}

export function noteResolved(database: DatabaseSync, thread: string, isResolved: boolean): void {
  sql(database).run`INSERT INTO remote_thread (thread, is_resolved)
    VALUES (${thread}, ${isResolved ? 1 : 0})
    ON CONFLICT DO UPDATE SET is_resolved = excluded.is_resolved`;
}

function owedRemote(database: DatabaseSync, gitDir: string): OwedRemote[] {
  const threads = sql(database).all`SELECT thread.id, fingerprint, state, is_resolved FROM thread
    JOIN remote_thread ON remote_thread.thread = thread.id
    JOIN repository ON repository.id = thread.repository
    WHERE git_dir = ${gitDir} ORDER BY opened`;
  return threads.flatMap((row) => {
    const thread = String(row.id);
    const says = sql(database).all`SELECT * FROM event WHERE thread = ${thread}
      AND kind IN ('replied', 'proposed', 'resolved', 'reopened')
      AND NOT EXISTS (SELECT 1 FROM remote_comment WHERE thread = ${thread}
      AND event = event.seq)
      ORDER BY seq`
      .map(eventOf)
      .filter(({ text, proposal }) => text !== undefined || proposal !== undefined);
    const isResolved = row.state === "resolved";
    const wasResolved = row.is_resolved === 1;
    if (says.length === 0 && isResolved === wasResolved) return [];
    return [{ thread, key: String(row.fingerprint), says, isResolved, wasResolved }];
  });
}

import type { DatabaseSync } from "node:sqlite";

import { insertRow, type PastEvent } from "./reviews-threads.ts";
import { repositoryFor } from "./repository-for.ts";
import {
  append,
  ELSEWHERE,
  eventOf,
  prepared,
  type Moment,
  threadOf,
  THREAD_COLUMNS,
} from "./reviews-rows.ts";
import type {
  Anchor,
  KnownRepository,
  Severity,
  Suggestion,
  ThreadState,
} from "./review-thread.ts";

/** A thread with all that happened to it, without what belongs to one machine. */
export interface ThreadDocument {
  readonly id: string;
  readonly repository: KnownRepository;
  readonly anchor: Anchor;
  readonly severity: Severity;
  readonly comment: string;
  readonly suggestion?: Suggestion | undefined;
  readonly by: string;
  readonly source: string;
  readonly at: number;
  readonly fingerprint?: string | undefined;
  /** In the order of time; the first one opened the thread. */
  readonly events: readonly DocumentEvent[];
  readonly state: ThreadState;
  /** Of a claimed thread. */
  readonly claim?: DocumentClaim | undefined;
  /** Of a thread of a forge: whether it was resolved there. */
  readonly isResolvedThere?: boolean | undefined;
}

export interface DocumentEvent extends PastEvent {
  /** The comments of the forge that it is. */
  readonly comments?: readonly string[] | undefined;
}

export interface DocumentClaim {
  readonly agent: string;
  readonly until: number;
  /** The state of the thread when the claim is over. */
  readonly before: ThreadState;
}

/** Milliseconds: a lease is renewed often, and a document changes with it only so often. */
const LEASE_STEP = 60_000;

/** The thread of exactly this id. */
export function readDocument(
  database: DatabaseSync,
  id: string,
  moment: Moment,
): ThreadDocument | undefined {
  const row = prepared(
    database,
    `SELECT first_commit, remotes, is_resolved, ${THREAD_COLUMNS}
       LEFT JOIN remote_thread ON remote_thread.thread = thread.id WHERE thread.id = ?`,
  ).get(id);
  if (row === undefined) return undefined;
  const { repository, state, claim, anchor, severity, comment, suggestion, by, source, at } =
    threadOf(row, moment);
  const before = row.state_before as ThreadState | null;
  return {
    id,
    repository: {
      ...repository,
      remotes: JSON.parse(String(row.remotes)) as string[],
      firstCommit: (row.first_commit as string | null) ?? undefined,
    },
    anchor,
    severity,
    comment,
    suggestion,
    by,
    source,
    at,
    fingerprint: (row.fingerprint as string | null) ?? undefined,
    events: [...eventsOf(database, id).values()],
    state,
    claim: claim && {
      agent: claim.agent,
      until: Math.ceil(claim.until / LEASE_STEP) * LEASE_STEP,
      before: before ?? "open",
    },
    isResolvedThere: row.is_resolved === null ? undefined : row.is_resolved === 1,
  };
}

/** The events of a thread by their numbers. */
function eventsOf(database: DatabaseSync, thread: string): Map<number, DocumentEvent> {
  const rows = prepared(database, "SELECT * FROM event WHERE thread = ? ORDER BY at, seq").all(
    thread,
  );
  const posted = prepared(
    database,
    "SELECT comment FROM remote_comment WHERE thread = ? AND event = ? ORDER BY comment",
  );
  return new Map(
    rows.map((row) => {
      const { seq, ...event } = eventOf(row);
      const comments = posted.all(thread, seq).map(({ comment }) => String(comment));
      return [seq, { ...event, ...(comments.length === 0 ? {} : { comments }) }];
    }),
  );
}

/** Brings the thread of an id to what a document says. Nothing that happened here is removed. */
export function writeDocument(database: DatabaseSync, document: ThreadDocument): void {
  const { id, events, state, claim, isResolvedThere } = document;
  const row = prepared(
    database,
    "SELECT repository, holder, agent, state FROM thread WHERE id = ?",
  ).get(id);
  const repository =
    row === undefined ? repositoryFor(database, document.repository) : row.repository;
  const known = new Map<string, number>();
  for (const [seq, event] of eventsOf(database, id)) known.set(eventKey(event), seq);
  let opened: number | undefined;
  for (const { comments = [], ...event } of events) {
    const isMessage = event.role === "person" && event.text !== undefined;
    const messageIn = isMessage && event.kind !== "resolved" ? Number(repository) : undefined;
    const seq = known.get(eventKey(event)) ?? append(database, { ...event, thread: id, messageIn });
    opened ??= seq;
    if (row === undefined && seq === opened) insertRow(database, document, Number(repository), seq);
    for (const comment of comments) {
      prepared(
        database,
        "INSERT OR IGNORE INTO remote_comment (thread, comment, event) VALUES (?, ?, ?)",
      ).run(id, comment, seq);
    }
  }
  if (isResolvedThere !== undefined) {
    prepared(
      database,
      `INSERT INTO remote_thread (thread, is_resolved) VALUES (?, ?)
         ON CONFLICT DO UPDATE SET is_resolved = excluded.is_resolved`,
    ).run(id, isResolvedThere ? 1 : 0);
  }
  const updated = events.at(-1)?.at ?? document.at;
  prepared(database, "UPDATE thread SET updated = max(updated, ?) WHERE id = ?").run(updated, id);
  // A claim of this machine keeps its process and its lease.
  const isOwn = row?.state === "claimed" && row.holder !== ELSEWHERE && row.agent === claim?.agent;
  if (isOwn) return;
  prepared(
    database,
    `UPDATE thread SET state = ?, state_before = ?, agent = ?, holder = ?, lease = ?, client = NULL
       WHERE id = ?`,
  ).run(
    claim === undefined ? state : "claimed",
    claim?.before ?? null,
    claim?.agent ?? null,
    claim === undefined ? null : ELSEWHERE,
    claim?.until ?? null,
    id,
  );
}

/** What tells an event from others of its thread, on all machines. */
export function eventKey({ kind, at, by, role, text, proposal }: DocumentEvent): string {
  return JSON.stringify([kind, at, by, role, text, proposal]);
}

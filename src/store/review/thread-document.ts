import type { DatabaseSync } from "node:sqlite";

import { sql } from "../sql.ts";
import { isRepositoryPath } from "../../base/file/repository-path.ts";
import {
  append,
  ELSEWHERE,
  eventOf,
  insertRow,
  isMessage,
  type QueryContext,
  shownThreadOf,
  THREAD_COLUMNS,
} from "./reviews-rows.ts";
import { notePosted, noteResolved } from "./reviews-remote.ts";
import { repositoryFor, repositoryOf } from "./reviews-repositories.ts";
import type { ThreadState } from "./review-thread.ts";
import { checkThreadDocument, type ThreadDocument, type WrittenEvent } from "../schema.gen.ts";
import { parsedJson } from "../../base/check.ts";
import { defined } from "../../base/defined.ts";

/** Milliseconds: a lease is renewed often, and a document changes with it only so often. */
const LEASE_STEP = 60_000;

/** The thread of exactly this id. */
export function readDocument(
  database: DatabaseSync,
  id: string,
  moment: QueryContext,
): ThreadDocument | undefined {
  const query = database.prepare(
    `SELECT first_commit, remotes, is_resolved, ${THREAD_COLUMNS}
       LEFT JOIN remote_thread ON remote_thread.thread = thread.id WHERE thread.id = ?`,
  );
  const row = query.get(id);
  if (row === undefined) return undefined;
  const { state, claim, updated: _, ...thread } = shownThreadOf(row, moment);
  const before = row.state_before as ThreadState | null;
  return defined<ThreadDocument>({
    ...thread,
    repository: repositoryOf(row),
    fingerprint: (row.fingerprint as string | null) ?? undefined,
    events: [...eventsOf(database, id).values()],
    state,
    claim: claim && {
      agent: claim.agent,
      until: Math.ceil(claim.until / LEASE_STEP) * LEASE_STEP,
      before: before ?? "open",
    },
    isResolvedThere: row.is_resolved === null ? undefined : row.is_resolved === 1,
  });
}

/** The events of a thread by their numbers. */
function eventsOf(database: DatabaseSync, thread: string): Map<number, WrittenEvent> {
  const rows = sql(database).all`SELECT * FROM event WHERE thread = ${thread} ORDER BY at, seq`;
  return new Map(
    rows.map((row) => {
      const { seq, ...event } = eventOf(row);
      const comments = sql(database).all`SELECT comment FROM remote_comment
        WHERE thread = ${thread} AND event = ${seq} ORDER BY comment`.map(({ comment }) =>
        String(comment),
      );
      return [seq, { ...event, ...(comments.length === 0 ? {} : { comments }) }];
    }),
  );
}

/** Updates the thread of an id from a document. Events that were recorded here are never removed. */
export function writeDocument(database: DatabaseSync, document: ThreadDocument): void {
  const { id, events, state, claim, isResolvedThere, fingerprint } = document;
  const row = sql(database).get`SELECT repository, holder, agent, state FROM thread
    WHERE id = ${id}`;
  const repository =
    row === undefined ? repositoryFor(database, document.repository) : row.repository;
  const known = new Map<string, number>();
  for (const [seq, event] of eventsOf(database, id)) known.set(eventKey(event), seq);
  let opened: number | undefined;
  for (const { comments = [], ...event } of events) {
    const messageIn = isMessage(event) ? Number(repository) : undefined;
    const seq = known.get(eventKey(event)) ?? append(database, { ...event, thread: id, messageIn });
    opened ??= seq;
    if (row === undefined && seq === opened) insertRow(database, document, Number(repository), seq);
    for (const comment of comments) notePosted(database, id, comment, seq);
  }
  if (isResolvedThere !== undefined) noteResolved(database, id, isResolvedThere);
  // A thread that was posted to a forge gets its name there later.
  if (fingerprint !== undefined) {
    sql(database).run`UPDATE OR IGNORE thread SET fingerprint = ${fingerprint} WHERE id = ${id}`;
  }
  const updated = events.at(-1)?.at ?? document.at;
  sql(database).run`UPDATE thread SET updated = max(updated, ${updated}) WHERE id = ${id}`;
  // A claim of this machine keeps its process and its lease.
  if (row?.state === "claimed" && row.holder !== ELSEWHERE && row.agent === claim?.agent) return;
  sql(database).run`UPDATE thread
    SET state = ${claim === undefined ? state : "claimed"}, state_before =
    ${claim?.before ?? null}, agent = ${claim?.agent ?? null}, holder =
    ${claim === undefined ? null : ELSEWHERE}, lease = ${claim?.until ?? null}, client = NULL
    WHERE id = ${id}`;
}

/** A key that identifies an event within its thread on all machines. */
export function eventKey({ kind, at, by, role, text, proposal }: WrittenEvent): string {
  return JSON.stringify([kind, at, by, role, text, proposal]);
}

/** A thread of another machine; undefined where this version does not understand it. */
export function parseDocument(text: string): ThreadDocument | undefined {
  const value = parsedJson(text);
  if (checkThreadDocument(value) !== undefined) return undefined;
  const document = value as ThreadDocument;
  return isRepositoryPath(document.anchor.path) ? document : undefined;
}

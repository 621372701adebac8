import type { DatabaseSync } from "node:sqlite";

import { TrunklineError } from "../../base/errors.ts";
import {
  append,
  freeId,
  type Moment,
  prepared,
  repositoryId,
  shownThreadOf,
  type StoredThread,
  THREAD_COLUMNS,
  threadOf,
  toKept,
} from "./reviews-rows.ts";
import type {
  Anchor,
  Repository,
  Severity,
  Suggestion,
  Thread,
  ThreadEvent,
  ThreadState,
} from "./review-thread.ts";

export interface NewThread {
  readonly repository: Repository;
  readonly anchor: Anchor;
  readonly comment: string;
  readonly severity: Severity;
  readonly by: string;
  readonly source: string;
  readonly suggestion?: Suggestion | undefined;
  /** The file's text, stored under the anchor's blob id. */
  readonly content?: Uint8Array | undefined;
  /** When the comment was written, if that was not now. */
  readonly at?: number | undefined;
  /** For an imported thread: its original id. */
  readonly id?: string | undefined;
  /** Threads with the same fingerprint in the same repository are one. */
  readonly fingerprint?: string | undefined;
  /** For an imported thread: its events and its state. */
  readonly past?:
    | { readonly state: ThreadState; readonly events: readonly PastEvent[] }
    | undefined;
}

export type PastEvent = Omit<ThreadEvent, "seq">;

export interface ClaimRequest {
  readonly agent: string;
  /** The client that the agent is, where this process serves several. */
  readonly client?: string | undefined;
  /** Milliseconds. */
  readonly lease: number;
  readonly gitDir?: string | undefined;
  /** One thread, or the oldest unclaimed ones. */
  readonly id?: string | undefined;
  readonly limit?: number | undefined;
}

/** Who claims a thread. */
export interface Claimant {
  readonly agent: string;
  readonly holder: string | undefined;
  readonly client: string | undefined;
}

/** Throws if another agent has claimed it, or the same agent in another process or for another client. */
export function claimable(thread: StoredThread, claimant: Claimant): StoredThread {
  const { claim, holder, client } = thread;
  const { agent } = claimant;
  const isOwn = claim?.agent === agent && holder === claimant.holder && client === claimant.client;
  if (claim !== undefined && !isOwn) {
    const until = new Date(claim.until).toISOString();
    const who = claim.agent === agent ? `another client named ${agent}` : claim.agent;
    const why = `${who} has claimed it until ${until}. Choose another thread`;
    throw refusal("work on", thread, why);
  }
  if (thread.state === "resolved") {
    throw refusal("work on", thread, "it is resolved. Only a person can reopen it");
  }
  return thread;
}

/** The oldest threads that nobody has claimed. */
export function freeThreads(
  database: DatabaseSync,
  gitDir: string | undefined,
  limit: number,
  moment: Moment,
): StoredThread[] {
  const rows = database
    .prepare(
      `SELECT ${THREAD_COLUMNS}
       WHERE state IN ('open', 'reopened', 'claimed') AND (?1 IS NULL OR git_dir = ?1)
       ORDER BY opened`,
    )
    .iterate(gitDir ?? null);
  const free: StoredThread[] = [];
  for (const row of rows) {
    if (free.length >= limit) break;
    const thread = threadOf(row, moment);
    if (thread.state !== "claimed") free.push(thread);
  }
  return free;
}

export interface ThreadFilter {
  readonly gitDir?: string | undefined;
  readonly states?: readonly ThreadState[] | undefined;
  readonly path?: string | undefined;
  readonly limit?: number | undefined;
}

/** Threads in the order they were opened. */
export function listThreads(
  database: DatabaseSync,
  { gitDir, states, path, limit }: ThreadFilter,
  moment: Moment,
): Thread[] {
  // Only the given conditions: a query with optional conditions could not use an index.
  const inRepository = gitDir === undefined ? "true" : "git_dir = ?";
  const onFile = path === undefined ? "true" : "path = ?";
  const query = prepared(
    database,
    `SELECT ${THREAD_COLUMNS} WHERE ${inRepository} AND ${onFile} ORDER BY opened`,
  );
  const rows = query.all(...[gitDir, path].filter((value) => value !== undefined));
  const threads: Thread[] = [];
  if (rows.length === 0) return threads;
  const wanted = states === undefined ? undefined : new Set<unknown>(states);
  for (const row of rows) {
    // Whether a claim has expired can only be checked row by row.
    if (wanted !== undefined && row.state !== "claimed" && !wanted.has(row.state)) continue;
    const thread = shownThreadOf(row, moment);
    if (wanted !== undefined && !wanted.has(thread.state)) continue;
    threads.push(thread);
    if (threads.length === limit) break;
  }
  return threads;
}

/** Opens a thread, unless there is one with the same id or fingerprint. */
export function insertThread(
  database: DatabaseSync,
  thread: NewThread,
  now: number,
): { id: string; isNew: boolean } {
  const { anchor, comment, by, content, at = now } = thread;
  const repository = repositoryId(database, thread.repository);
  const fingerprint = thread.fingerprint ?? null;
  const there = prepared(
    database,
    "SELECT id FROM thread WHERE id = ? OR (repository = ? AND fingerprint = ?)",
  ).get(thread.id ?? null, repository, fingerprint);
  if (there !== undefined) return { id: String(there.id), isNew: false };
  const id = thread.id ?? freeId(database);
  if (content !== undefined && anchor.blob !== undefined) keepText(database, anchor.blob, content);
  const event = { thread: id, kind: "opened", at, by, role: "person", text: comment } as const;
  const seq = append(database, { ...event, messageIn: repository });
  insertRow(database, { ...thread, id, at }, repository, seq);
  if (thread.past !== undefined) insertPast(database, id, repository, thread.past);
  return { id, isNew: true };
}

function keepText(database: DatabaseSync, blob: string, content: Uint8Array): void {
  if (prepared(database, "SELECT 1 FROM text WHERE blob = ?").get(blob) !== undefined) return;
  prepared(database, "INSERT INTO text (blob, content) VALUES (?, ?)").run(blob, toKept(content));
}

/** What is in the row of a new thread. */
type ThreadRow = Omit<NewThread, "repository" | "content" | "past"> & {
  readonly id: string;
  readonly at: number;
};

/** Inserts the row of a thread, after the event that opened it. */
export function insertRow(
  database: DatabaseSync,
  thread: ThreadRow,
  repository: number,
  opened: number,
): void {
  const { id, anchor, severity, comment, suggestion, by, source, at, fingerprint } = thread;
  prepared(
    database,
    `INSERT INTO thread (id, repository, opened, path, anchor, severity, comment, suggestion, state,
         author, source, at, updated, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?)`,
  ).run(
    id,
    repository,
    opened,
    anchor.path,
    JSON.stringify(anchor),
    severity,
    comment,
    suggestion === undefined ? null : JSON.stringify(suggestion),
    by,
    source,
    at,
    at,
    fingerprint ?? null,
  );
}

function insertPast(
  database: DatabaseSync,
  thread: string,
  repository: number,
  { state, events }: NonNullable<NewThread["past"]>,
): void {
  let updated = 0;
  for (const event of events) {
    const isMessage = event.role === "person" && event.text !== undefined;
    const messageIn = isMessage && event.kind !== "resolved" ? repository : undefined;
    append(database, { ...event, thread, messageIn });
    updated = event.at;
  }
  // A claim of an agent on another machine has no meaning here.
  database
    .prepare("UPDATE thread SET state = ?1, updated = max(updated, ?2) WHERE id = ?3")
    .run(state === "claimed" ? "open" : state, updated, thread);
}

export function refusal(verb: string, { id }: Thread, why: string): TrunklineError {
  return new TrunklineError("config", `Cannot ${verb} thread ${id}: ${why}.`);
}

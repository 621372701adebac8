import type { DatabaseSync } from "node:sqlite";

import { TrunklineError } from "../../base/errors.ts";
import type { Holder } from "../holder.ts";
import type { Row } from "../database.ts";
import { sql } from "../sql.ts";
import type {
  Message,
  Repository,
  Severity,
  Thread,
  ThreadEvent,
  ThreadState,
} from "./review-thread.ts";
import type { Anchor, Proposal, Suggestion, WrittenEvent } from "../schema.gen.ts";

/** The holder of a claim of another machine, which lasts as long as its lease. */
export const ELSEWHERE = "elsewhere";

/** The time and the process of a query: both decide whether a claim is still valid. */
export interface QueryContext {
  readonly now: number;
  /** This process, and which others are alive. */
  readonly holder: Pick<Holder, "id" | "isAlive">;
}

export interface NewEvent extends Pick<WrittenEvent, "kind" | "at" | "by" | "role"> {
  readonly thread: string;
  readonly text?: string | undefined;
  readonly proposal?: Proposal | undefined;
  /** Set if a person says something to agents. */
  readonly messageIn?: number | undefined;
}

/** Whether a person says something to agents. */
export function isMessage({ role, kind, text }: Pick<NewEvent, "role" | "kind" | "text">): boolean {
  return role === "person" && kind !== "resolved" && text !== undefined;
}

/** Appends an event, and returns its sequence number. */
export function append(database: DatabaseSync, event: NewEvent): number {
  const { thread, kind, at, by, role, text, proposal, messageIn } = event;
  const body = JSON.stringify({ text, proposal });
  const { lastInsertRowid } = sql(database).run`INSERT INTO event (thread, kind, at, author,
    role, body, recorded, message_in)
    VALUES (${thread}, ${kind}, ${at}, ${by}, ${role}, ${body}, ${Date.now()},
    ${messageIn ?? null})`;
  return Number(lastInsertRowid);
}

export const THREAD_COLUMNS = `thread.*, git_dir, root
  FROM thread JOIN repository ON repository.id = thread.repository`;

/** A thread, with fields that only the store needs. */
export interface StoredThread extends Thread {
  readonly repositoryId: number;
  /** The process that has the claim, even if it has expired. */
  readonly holder: string | undefined;
  /** The client of that process that has it, where the process serves several. */
  readonly client: string | undefined;
  /** The state on disk: claimed even if the claim has expired. */
  readonly storedState: ThreadState;
}

export function threadOf(row: Row, moment: QueryContext): StoredThread {
  return {
    ...shownThreadOf(row, moment),
    repositoryId: Number(row.repository),
    storedState: row.state as ThreadState,
    holder: (row.holder as string | null) ?? undefined,
    client: (row.client as string | null) ?? undefined,
  };
}

/** A thread without the fields that only the store needs. Built in place, because lists have thousands. */
export function shownThreadOf(row: Row, moment: QueryContext): Thread {
  const claim = claimOf(row, moment);
  const isLapsed = row.state === "claimed" && claim === undefined;
  const thread: { -readonly [K in keyof Thread]: Thread[K] } = {
    id: String(row.id),
    repository: repositoryOf(row),
    anchor: JSON.parse(String(row.anchor)) as Anchor,
    severity: row.severity as Severity,
    comment: String(row.comment),
    state: (isLapsed ? row.state_before : row.state) as ThreadState,
    by: String(row.author),
    source: String(row.source),
    at: Number(row.at),
    updated: Number(row.updated),
  };
  const { suggestion } = suggestionOf(row);
  if (suggestion !== undefined) thread.suggestion = suggestion;
  if (claim !== undefined) thread.claim = claim;
  return thread;
}

function claimOf(row: Row, { now, holder }: QueryContext): Thread["claim"] {
  if (row.state !== "claimed") return undefined;
  const until = Number(row.lease);
  const by = String(row.holder);
  // A claim ends with its lease, and with the process that has it.
  if (until <= now || (by !== ELSEWHERE && !holder.isAlive(by))) return undefined;
  return { agent: String(row.agent), until };
}

/** Removes the fields that only the store needs. */
export function shown(stored: StoredThread): Thread {
  const { repositoryId: _id, holder: _holder, client: _client, ...rest } = stored;
  const { storedState: _state, ...thread } = rest;
  return thread;
}

export function messageOf(row: Row): Message {
  const { text } = JSON.parse(String(row.body)) as { text: string };
  const { seq, id: thread, severity, said_by: by, said_at: at } = row;
  const anchor = JSON.parse(String(row.anchor)) as Anchor;
  const placed = { repository: repositoryOf(row), anchor, ...suggestionOf(row) };
  return { seq, thread, severity, text, by, at, ...placed } as unknown as Message;
}

export function eventOf(row: Row): ThreadEvent {
  const { seq, kind, at, author: by, role } = row;
  // Its text and its proposal, where it has them.
  const body = JSON.parse(String(row.body)) as Pick<ThreadEvent, "text" | "proposal">;
  return { seq, kind, at, by, role, ...body } as ThreadEvent;
}

/** The thread with an id, or with a unique beginning of one. */
export function findThread(database: DatabaseSync, id: string, moment: QueryContext): StoredThread {
  const rows = database
    .prepare(`SELECT ${THREAD_COLUMNS} WHERE thread.id >= ?1 AND thread.id < ?1 || '~' LIMIT 6`)
    .all(id.toLowerCase());
  const [first] = rows;
  if (first !== undefined && id !== "" && (rows.length === 1 || first.id === id.toLowerCase())) {
    return threadOf(first, moment);
  }
  const why =
    rows.length === 0
      ? "there is no such thread. `trunkline review list --all` shows them"
      : `several threads begin with that: ${rows.map((row) => String(row.id)).join(", ")}`;
  throw new TrunklineError("not-found", `Cannot find thread '${id.slice(0, 80)}': ${why}.`);
}

/** The row id of a repository, which is inserted with its first thread. */
export function repositoryId(
  database: DatabaseSync,
  { gitDir, root, remotes = [] }: Repository,
): number {
  const row = sql(database).get`SELECT id, root, remotes FROM repository
    WHERE git_dir = ${gitDir}`;
  const addresses = JSON.stringify(remotes);
  if (row === undefined) {
    const { lastInsertRowid } = sql(database).run`INSERT INTO repository (git_dir, root, remotes)
      VALUES (${gitDir}, ${root}, ${addresses})`;
    return Number(lastInsertRowid);
  }
  if (row.root !== root || (row.remotes !== addresses && remotes.length > 0)) {
    const known = remotes.length > 0 ? addresses : row.remotes;
    sql(database).run`UPDATE repository SET root = ${root}, remotes = ${String(known)}
      WHERE id = ${Number(row.id)}`;
  }
  return Number(row.id);
}

/** Letters and digits that cannot be confused with each other. */
const LETTERS = "0123456789abcdefghjkmnpqrstvwxyz";

/** A new thread id, short enough to type. */
export function freeId(database: DatabaseSync): string {
  for (;;) {
    // The id is no secret; loading cryptography would take longer than storing the comment.
    const letters = Array.from({ length: 5 }, () => {
      return LETTERS[Math.floor(Math.random() * LETTERS.length)];
    });
    const id = `r${letters.join("")}`;
    if (sql(database).get`SELECT 1 FROM thread WHERE id = ${id}` === undefined) return id;
  }
}

function repositoryOf(row: Row): Repository {
  return { gitDir: String(row.git_dir), root: String(row.root) };
}

function suggestionOf(row: Row): { suggestion?: Suggestion } {
  if (row.suggestion === null || row.suggestion === undefined) return {};
  return { suggestion: JSON.parse(String(row.suggestion)) as Suggestion };
}

/** Shorter texts are not compressed: a person waits, and loading the compressor takes long. */
const SHORT = 32 * 1024;

/** No compressed text begins with these bytes. */
const PLAIN = 0;

/** A text as it is stored in a database. */
export function toKept(text: Uint8Array): Uint8Array {
  if (text.length > SHORT) return process.getBuiltinModule("node:zlib").deflateSync(text);
  return Buffer.concat([Buffer.of(PLAIN), text]);
}

/** Throws where a text would have more than `most` bytes. */
export function fromKept(kept: Uint8Array, most?: number): Uint8Array {
  if (kept[0] === PLAIN) return kept.subarray(1);
  const limit = most === undefined ? {} : { maxOutputLength: most };
  return process.getBuiltinModule("node:zlib").inflateSync(kept, limit);
}

export interface NewThread extends Pick<
  Thread,
  "repository" | "anchor" | "comment" | "severity" | "by" | "source"
> {
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

/** Throws if another agent has claimed it, or the same agent in another process or for another client. */
export function claimable(
  thread: StoredThread,
  { agent, ...claimant }: Pick<StoredThread, "holder" | "client"> & { readonly agent: string },
): StoredThread {
  const { claim, holder, client } = thread;
  const isOwn = claim?.agent === agent && holder === claimant.holder && client === claimant.client;
  if (claim !== undefined && !isOwn) {
    const until = new Date(claim.until).toISOString();
    const who = claim.agent === agent ? `another client named ${agent}` : claim.agent;
    throw refusal("work on", thread, `${who} has claimed it until ${until}. Choose another thread`);
  }
  refuseResolved("work on", thread);
  return thread;
}

/** The oldest threads that nobody has claimed. */
export function freeThreads(
  database: DatabaseSync,
  gitDir: string | undefined,
  limit: number,
  moment: QueryContext,
): StoredThread[] {
  const rows = database
    .prepare(
      `SELECT ${THREAD_COLUMNS}
       WHERE state IN ('open', 'reopened', 'claimed') AND (?1 IS NULL OR git_dir = ?1)
       ORDER BY opened`,
    )
    .iterate(gitDir ?? null);
  const threads = rows.map((row) => threadOf(row, moment));
  return threads
    .filter(({ state }) => state !== "claimed")
    .take(limit)
    .toArray();
}

export interface ThreadFilter extends Pick<ClaimRequest, "gitDir" | "limit"> {
  readonly states?: readonly ThreadState[] | undefined;
  readonly path?: string | undefined;
}

/** Threads in the order they were opened. */
export function listThreads(
  database: DatabaseSync,
  { gitDir, states, path, limit }: ThreadFilter,
  moment: QueryContext,
): Thread[] {
  // Only the given conditions: a query with optional conditions could not use an index.
  const inRepository = gitDir === undefined ? "true" : "git_dir = ?";
  const onFile = path === undefined ? "true" : "path = ?";
  const rows = database
    .prepare(`SELECT ${THREAD_COLUMNS} WHERE ${inRepository} AND ${onFile} ORDER BY opened`)
    .all(...[gitDir, path].filter((value) => value !== undefined));
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
export function insertThread(database: DatabaseSync, thread: NewThread, now: number) {
  const { anchor, comment, by, content, at = now, fingerprint = null } = thread;
  const repository = repositoryId(database, thread.repository);
  const there = sql(database).get`SELECT id FROM thread
    WHERE id = ${thread.id ?? null} OR (repository = ${repository}
    AND fingerprint = ${fingerprint})`;
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
  if (sql(database).get`SELECT 1 FROM text WHERE blob = ${blob}` !== undefined) return;
  sql(database).run`INSERT INTO text (blob, content) VALUES (${blob}, ${toKept(content)})`;
}

/** The columns of a new thread. */
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
  const { id, anchor, severity, comment, by, source, at, fingerprint = null } = thread;
  const suggestion = thread.suggestion === undefined ? null : JSON.stringify(thread.suggestion);
  sql(database).run`INSERT INTO thread (id, repository, opened, path, anchor, severity, comment,
    suggestion, state,
    author, source, at, updated, fingerprint)
    VALUES (${id}, ${repository}, ${opened}, ${anchor.path}, ${JSON.stringify(anchor)},
    ${severity}, ${comment}, ${suggestion}, 'open', ${by}, ${source}, ${at}, ${at},
    ${fingerprint})`;
}

function insertPast(
  database: DatabaseSync,
  thread: string,
  repository: number,
  { state, events }: NonNullable<NewThread["past"]>,
): void {
  let updated = 0;
  for (const event of events) {
    append(database, { ...event, thread, messageIn: isMessage(event) ? repository : undefined });
    updated = event.at;
  }
  // A claim of an agent on another machine has no meaning here.
  sql(database).run`UPDATE thread SET state = ${state === "claimed" ? "open" : state}, updated =
    max(updated, ${updated}) WHERE id = ${thread}`;
}

/** Only a person works on a resolved thread. */
export function refuseResolved(verb: string, thread: Thread): void {
  if (thread.state !== "resolved") return;
  throw refusal(verb, thread, "it is resolved. Only a person can reopen it");
}

export function refusal(verb: string, { id }: Thread, why: string): TrunklineError {
  return new TrunklineError("config", `Cannot ${verb} thread ${id}: ${why}.`);
}

import type { DatabaseSync } from "node:sqlite";

import { sql } from "../sql.ts";
import { isRepositoryPath } from "../../base/file/repository-path.ts";
import {
  append,
  ELSEWHERE,
  eventOf,
  insertRow,
  isMessage,
  type Moment,
  type PastEvent,
  THREAD_COLUMNS,
  threadOf,
} from "./reviews-rows.ts";
import { notePosted, noteResolved } from "./reviews-remote.ts";
import { repositoryFor } from "./reviews-repositories.ts";
import {
  type Anchor,
  type KnownRepository,
  SEVERITIES,
  type Severity,
  STATES,
  type Suggestion,
  type ThreadState,
} from "./review-thread.ts";
import { parsedJson } from "../../base/check.ts";

/** A thread with its whole history, without fields that only make sense on one machine. */
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
  const query = database.prepare(
    `SELECT first_commit, remotes, is_resolved, ${THREAD_COLUMNS}
       LEFT JOIN remote_thread ON remote_thread.thread = thread.id WHERE thread.id = ?`,
  );
  const row = query.get(id);
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
  const { id, events, state, claim, isResolvedThere } = document;
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
  const updated = events.at(-1)?.at ?? document.at;
  sql(database).run`UPDATE thread SET updated = max(updated, ${updated}) WHERE id = ${id}`;
  // A claim of this machine keeps its process and its lease.
  const isOwn = row?.state === "claimed" && row.holder !== ELSEWHERE && row.agent === claim?.agent;
  if (isOwn) return;
  sql(database).run`UPDATE thread
    SET state = ${claim === undefined ? state : "claimed"}, state_before =
    ${claim?.before ?? null}, agent = ${claim?.agent ?? null}, holder =
    ${claim === undefined ? null : ELSEWHERE}, lease = ${claim?.until ?? null}, client = NULL
    WHERE id = ${id}`;
}

/** A key that identifies an event within its thread on all machines. */
export function eventKey({ kind, at, by, role, text, proposal }: DocumentEvent): string {
  return JSON.stringify([kind, at, by, role, text, proposal]);
}

type Check = (value: unknown) => boolean;

/** Whether a value is a time that a Date can have. */
export function isTime(at: unknown): at is number {
  return Number.isSafeInteger(at) && !Number.isNaN(new Date(at as number).getTime());
}

export const isText = (value: unknown): value is string => typeof value === "string";
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isLine: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 1;
const isPath: Check = (value) => isText(value) && isRepositoryPath(value);
const isObjectId: Check = (value) => isText(value) && /^[0-9a-f]{1,64}$/.test(value);
const isOneOf =
  (...texts: readonly string[]): Check =>
  (value) =>
    texts.includes(value as string);
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === "object" && value !== null && wrongField(value, checks) === undefined;

/** The first invalid field. */
export function wrongField(
  value: object,
  checks: Readonly<Record<string, Check>>,
): string | undefined {
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.keys(checks).find((name) => checks[name]?.(fields[name]) !== true);
}

const isProposal = hasFields({ text: maybe(isText), commit: maybe(isText), diff: maybe(isText) });

const isEvent = hasFields({
  kind: isOneOf("opened", "claimed", "returned", "replied", "proposed", "resolved", "reopened"),
  at: isTime,
  by: isText,
  role: isOneOf("person", "agent"),
  text: maybe(isText),
  proposal: maybe(isProposal),
  comments: maybe(isTexts),
});

/** Validates a thread of another machine, whatever its source. */
export const THREAD_FIELDS: Readonly<Record<string, Check>> = {
  id: isText,
  anchor: hasFields({
    path: isPath,
    side: isOneOf("old", "new"),
    line: maybe(isLine),
    end: maybe(isLine),
    blob: maybe(isObjectId),
    commit: maybe(isObjectId),
    quote: maybe(isTexts),
    before: maybe(isTexts),
    after: maybe(isTexts),
  }),
  severity: isOneOf(...SEVERITIES),
  comment: isText,
  suggestion: maybe(hasFields({ lines: isTexts })),
  by: isText,
  source: isText,
  at: isTime,
  events: (value) => Array.isArray(value) && value.every(isEvent),
  state: isOneOf(...STATES),
};

const isDocument = hasFields({
  ...THREAD_FIELDS,
  repository: hasFields({
    gitDir: isText,
    root: isText,
    remotes: isTexts,
    firstCommit: maybe(isText),
  }),
  fingerprint: maybe(isText),
  events: (value) => Array.isArray(value) && value.length > 0 && value.every(isEvent),
  claim: maybe(hasFields({ agent: isText, until: isTime, before: isOneOf(...STATES) })),
  isResolvedThere: maybe((value) => typeof value === "boolean"),
});

/** A thread of another machine; undefined where this version does not understand it. */
export function parseDocument(text: string): ThreadDocument | undefined {
  const value = parsedJson(text);
  return isDocument(value) ? (value as ThreadDocument) : undefined;
}

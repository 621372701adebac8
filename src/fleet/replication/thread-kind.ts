import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { defined } from "../../base/defined.ts";
import type { Database } from "../../store/database.ts";
import { repositoryFor } from "../../store/review/reviews-repositories.ts";
import type { ThreadState } from "../../store/review/review-thread.ts";
import type { QueryContext } from "../../store/review/reviews-rows.ts";
import { sql } from "../../store/sql.ts";
import type { ThreadDocument, WrittenEvent } from "../../store/schema.gen.ts";
import {
  eventKey,
  parseDocument,
  readDocument,
  writeDocument,
} from "../../store/review/thread-document.ts";
import { DatabaseKind, rowText, type SharedRows, type SharedText } from "./shared-base.ts";

/**
 * A thread that was changed here and meanwhile also elsewhere: everything that happened to it, in the
 * order of time, and the state that results from that. Where both have claimed it, the claim of `shared`
 * stays, which was first.
 */
export function mergeThreads(local: ThreadDocument, shared: ThreadDocument): ThreadDocument {
  const events = union(shared.events, local.events);
  const hasMore = events.length > shared.events.length;
  const hasLess = events.length > local.events.length;
  const state = hasMore && hasLess ? stateAfter(events) : hasMore ? local.state : shared.state;
  const claims = [shared.claim, local.claim].filter((claim) => claim !== undefined);
  const claim = state === "claimed" ? claims[0] : undefined;
  return defined<ThreadDocument>({
    ...shared,
    events,
    // Nobody knows whose claim it was.
    state: state === "claimed" && claim === undefined ? "open" : state,
    claim,
    fingerprint: shared.fingerprint ?? local.fingerprint,
    isResolvedThere: local.isResolvedThere ?? shared.isResolvedThere,
  });
}

function union(
  some: readonly WrittenEvent[],
  others: readonly WrittenEvent[],
): readonly WrittenEvent[] {
  const all = new Map<string, WrittenEvent>();
  for (const event of [...some, ...others]) {
    const key = eventKey(event);
    const posted = new Set([...(all.get(key)?.comments ?? []), ...(event.comments ?? [])]);
    const comments = posted.size === 0 ? {} : { comments: [...posted].toSorted() };
    all.set(key, { ...event, ...comments });
  }
  return [...all.values()].toSorted((one, other) => one.at - other.at);
}

/** The state that results from events. Agents change nothing about a thread that a person has resolved. */
function stateAfter(events: readonly WrittenEvent[]): ThreadState {
  let state: ThreadState = "open";
  let before: ThreadState = "open";
  for (const { kind, role } of events) {
    if (kind === "reopened") state = "reopened";
    if (state === "resolved") continue;
    if (kind === "claimed") {
      if (state !== "claimed") before = state;
      state = "claimed";
    } else if (kind === "returned") state = before;
    else if (kind === "proposed") state = "proposed";
    else if (kind === "resolved") state = "resolved";
    else if (kind === "replied" && role === "agent") state = "answered";
    else if (kind === "replied" && (state === "answered" || state === "proposed"))
      state = "reopened";
  }
  return state;
}

/** Ids that can be part of a subject. */
const ID = /^[\w-]{1,64}$/;
/** Characters of the mark that tells threads of the same id apart. */
const MARK = 8;

/** The review threads, with all that happened to them. */
export class ThreadKind extends DatabaseKind {
  readonly name = "thread";
  readonly #moment: () => QueryContext;

  constructor(database: Database, moment: () => QueryContext) {
    super(database);
    this.#moment = moment;
  }

  /** Whatever happens to a thread is an event, except that a claim is renewed or ends. */
  read(since?: unknown): Promise<SharedRows> {
    const moment = this.#moment();
    return this.database.read((database) => {
      const end = Number(sql(database).get`SELECT max(seq) AS seq FROM event`?.seq ?? 0);
      const changed = sql(database).all`SELECT id FROM thread WHERE state = 'claimed'
        OR id IN (SELECT thread FROM event WHERE seq > ${Number(since ?? 0)})`;
      const ids = changed.map(({ id }) => String(id));
      const rows = new Map<string, string>();
      for (const id of ids) {
        const document = readDocument(database, id, moment);
        if (document !== undefined && ID.test(id)) rows.set(keyOf(document), textOf(document));
      }
      return { rows, isWhole: false, end };
    });
  }

  protected override find(database: DatabaseSync, key: string): SharedText {
    const local = findLocal(database, key, this.#moment());
    return local && textOf(local);
  }

  /** Two nodes may have imported the same thread of a forge: then it is one thread here. */
  protected override write(database: DatabaseSync, key: string, next: SharedText): void {
    const moment = this.#moment();
    const document = next === undefined ? undefined : parseDocument(next);
    if (document === undefined || keyOf(document) !== key) return;
    const known = findLocal(database, key, moment)?.id;
    const id = known ?? twinOf(database, document) ?? freeIdFor(database, document);
    const twin = known === undefined ? readDocument(database, id, moment) : undefined;
    const whole = twin === undefined ? document : mergeThreads(twin, document);
    writeDocument(database, { ...whole, id });
  }

  merge(local: SharedText, shared: SharedText): SharedText {
    const [one, other] = [local, shared].map((text) => text && parseDocument(text));
    if (!one || !other) return shared ?? local;
    return textOf(mergeThreads(one, other));
  }
}

/** An id is short, so two nodes may give the same to different threads: how they began is part of the key. */
function keyOf(document: ThreadDocument): string {
  return `${originalId(document)}-${markOf(document)}`;
}

/** The id that a thread has where it was opened. */
function originalId(document: ThreadDocument): string {
  const { id } = document;
  return id.endsWith(markOf(document)) ? id.slice(0, -MARK) : id;
}

function markOf({ comment, by, at, anchor, source }: ThreadDocument): string {
  const began = JSON.stringify([comment, by, at, anchor.path, source]);
  return hash("sha256", began).slice(0, MARK);
}

function findLocal(
  database: DatabaseSync,
  key: string,
  moment: QueryContext,
): ThreadDocument | undefined {
  const id = key.slice(0, -MARK - 1);
  const mark = key.slice(-MARK);
  return [id, `${id}${mark}`]
    .map((each) => readDocument(database, each, moment))
    .find((document) => document !== undefined && markOf(document) === mark);
}

function freeIdFor(database: DatabaseSync, document: ThreadDocument): string {
  const id = originalId(document);
  const isTaken = sql(database).get`SELECT 1 FROM thread WHERE id = ${id}` !== undefined;
  return isTaken ? `${id}${markOf(document)}` : id;
}

/** The thread here that a forge or another tool knows as the same. */
function twinOf(database: DatabaseSync, document: ThreadDocument): string | undefined {
  const { fingerprint, repository } = document;
  if (fingerprint === undefined) return undefined;
  const row = sql(database).get`SELECT id FROM thread
    WHERE repository = ${repositoryFor(database, repository)} AND fingerprint = ${fingerprint}`;
  return row === undefined ? undefined : String(row.id);
}

function textOf(document: ThreadDocument): string {
  return rowText({ ...document, id: originalId(document) });
}

import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";

import type { Database } from "../../store/database.ts";
import { repositoryFor } from "../../store/review/repository-for.ts";
import { type Moment, prepared } from "../../store/review/reviews-rows.ts";
import { parseDocument } from "../../store/review/parse-document.ts";
import {
  readDocument,
  type ThreadDocument,
  writeDocument,
} from "../../store/review/thread-document.ts";
import { mergeThreads } from "./merge-threads.ts";
import { versionOf } from "./rule-kind.ts";
import {
  type Decide,
  rowText,
  type SharedKind,
  type SharedRows,
  type SharedText,
} from "./shared-kind.ts";

/** Ids that can be part of a subject. */
const ID = /^[\w-]{1,64}$/;
/** Characters of the mark that tells threads of the same id apart. */
const MARK = 8;

/** The review threads, with all that happened to them. */
export class ThreadKind implements SharedKind {
  readonly name = "thread";
  readonly #database: Database;
  readonly #moment: () => Moment;

  constructor(database: Database, moment: () => Moment) {
    this.#database = database;
    this.#moment = moment;
  }

  stamp(): Promise<unknown> {
    return this.#database.read((database) => versionOf(database));
  }

  /** Whatever happens to a thread is an event, except that a claim is renewed or ends. */
  read(since?: unknown): Promise<SharedRows> {
    const moment = this.#moment();
    return this.#database.read((database) => {
      const end = Number(prepared(database, "SELECT max(seq) AS seq FROM event").get()?.seq ?? 0);
      const ids = prepared(
        database,
        `SELECT id FROM thread WHERE id IN (SELECT thread FROM event WHERE seq > ?)
           OR state = 'claimed'`,
      )
        .all(Number(since ?? 0))
        .map(({ id }) => String(id));
      const rows = new Map<string, string>();
      for (const id of ids) {
        const document = readDocument(database, id, moment);
        if (document !== undefined && ID.test(id)) rows.set(keyOf(document), textOf(document));
      }
      return { rows, isWhole: false, end };
    });
  }

  change(keys: readonly string[], decide: Decide): Promise<ReadonlyMap<string, SharedText>> {
    const moment = this.#moment();
    return this.#database.change((database) => {
      const result = new Map<string, SharedText>();
      for (const key of keys) {
        const local = findLocal(database, key, moment);
        const before = local && textOf(local);
        const next = decide(key, before);
        const document = next === undefined || next === before ? undefined : parseDocument(next);
        if (document !== undefined && keyOf(document) === key) {
          this.#write(database, document, local?.id, moment);
        }
        const after = document === undefined ? local : findLocal(database, key, moment);
        result.set(key, after && textOf(after));
      }
      return result;
    });
  }

  merge(local: SharedText, shared: SharedText): SharedText {
    const [one, other] = [local, shared].map((text) => text && parseDocument(text));
    if (!one || !other) return shared ?? local;
    return textOf(mergeThreads(one, other));
  }

  /** Two nodes may have imported the same thread of a forge: then it is one thread here. */
  #write(
    database: DatabaseSync,
    document: ThreadDocument,
    known: string | undefined,
    moment: Moment,
  ): void {
    const id = known ?? twinOf(database, document) ?? freeIdFor(database, document);
    const twin = known === undefined ? readDocument(database, id, moment) : undefined;
    const whole = twin === undefined ? document : mergeThreads(twin, document);
    writeDocument(database, { ...whole, id });
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
  moment: Moment,
): ThreadDocument | undefined {
  const id = key.slice(0, -MARK - 1);
  const mark = key.slice(-MARK);
  return [id, `${id}${mark}`]
    .map((each) => readDocument(database, each, moment))
    .find((document) => document !== undefined && markOf(document) === mark);
}

function freeIdFor(database: DatabaseSync, document: ThreadDocument): string {
  const id = originalId(document);
  const isTaken = prepared(database, "SELECT 1 FROM thread WHERE id = ?").get(id) !== undefined;
  return isTaken ? `${id}${markOf(document)}` : id;
}

/** The thread here that a forge or another tool knows as the same. */
function twinOf(database: DatabaseSync, document: ThreadDocument): string | undefined {
  const { fingerprint, repository } = document;
  if (fingerprint === undefined) return undefined;
  const row = prepared(
    database,
    "SELECT id FROM thread WHERE repository = ? AND fingerprint = ?",
  ).get(repositoryFor(database, repository), fingerprint);
  return row === undefined ? undefined : String(row.id);
}

function textOf(document: ThreadDocument): string {
  return rowText({ ...document, id: originalId(document) });
}

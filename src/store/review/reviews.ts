import type { DatabaseSync } from "node:sqlite";
import { dirname, join } from "node:path";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";

import { attempt } from "../../base/attempt.ts";
import { type ChangeOptions, Database, HeldTables } from "../database.ts";
import type { Holder } from "../holder.ts";
import { sql } from "../sql.ts";
import {
  append,
  claimable,
  type ClaimRequest,
  eventOf,
  findThread,
  freeThreads,
  fromKept,
  insertThread,
  isMessage,
  listThreads,
  messageOf,
  type QueryContext,
  type NewEvent,
  type NewThread,
  refusal,
  refuseResolved,
  shown,
  type StoredThread,
  type ThreadFilter,
} from "./reviews-rows.ts";
import type { Message, Thread, ThreadEvent, ThreadState } from "./review-thread.ts";
import { Repositories } from "./reviews-repositories.ts";
import { RemoteThreads } from "./reviews-remote.ts";
import { REVIEWS_FILE } from "../store-files.ts";
import { REVIEW_MIGRATIONS } from "./reviews-schema.ts";
import { parsedJson } from "../../base/check.ts";

export interface ThreadMessage extends Pick<NewEvent, "by" | "role" | "text" | "proposal"> {
  /** The client that the agent is, as in its claim. */
  readonly client?: string | undefined;
}

/**
 * Review threads of all repositories, in a database that the command line, agents' servers and the
 * import of drop files all write. Every change is an event that is never altered; the state of a thread
 * results from its events.
 */
export class Reviews extends HeldTables {
  readonly path = this.database.path;
  readonly repositories = new Repositories(this.database);
  /** Threads that are also on a forge. */
  readonly remote = new RemoteThreads(this.database, this.now);
  readonly #journal = new SentJournal(dirname(this.path), this.holder);
  /** Outcomes of messages that were taken, which are not in the database yet. */
  readonly #owed = new Set<Outcome>();

  static async open(folder: string, now?: () => number): Promise<Reviews> {
    return new Reviews(await Database.open(join(folder, REVIEWS_FILE), REVIEW_MIGRATIONS), now);
  }

  /** Opens a thread. If there is one with the same id or fingerprint, that one is kept unchanged. */
  add(thread: NewThread): Promise<{ readonly id: string; readonly isNew: boolean }> {
    return this.database.change((database) => insertThread(database, thread, this.now()));
  }

  /** Opens several threads in one transaction. */
  addAll(threads: readonly NewThread[]): Promise<{ id: string; isNew: boolean }[]> {
    return this.database.change((database) =>
      threads.map((thread) => insertThread(database, thread, this.now())),
    );
  }

  list(filter: ThreadFilter = {}): Promise<Thread[]> {
    const moment = this.#moment;
    return this.database.read((database) => listThreads(database, filter, moment));
  }

  /** The thread with an id, or with a unique beginning of one. */
  get(id: string): Promise<Thread> {
    return this.database.read((database) => shown(findThread(database, id, this.#moment)));
  }

  async history(id: string): Promise<ThreadEvent[]> {
    const rows = await this.database.all`SELECT * FROM event WHERE thread = ${id} ORDER BY at, seq`;
    return rows.map(eventOf);
  }

  /** The text of a file that was commented on. */
  async text(blob: string): Promise<Uint8Array | undefined> {
    const row = await this.database.get`SELECT content FROM text WHERE blob = ${blob}`;
    return row === undefined ? undefined : fromKept(row.content as Uint8Array);
  }

  /**
   * Adds a reply. An agent's reply answers the thread; a person's reply reopens it if it had been
   * answered.
   */
  reply(id: string, saying: ThreadMessage): Promise<Thread> {
    return this.#step(id, (thread) => {
      refuseResolved("reply to", thread);
      if (saying.role === "agent") return { ...saying, kind: "replied", state: "answered" };
      const isAnswered = thread.state === "answered" || thread.state === "proposed";
      return { ...saying, kind: "replied", state: isAnswered ? "reopened" : thread.storedState };
    });
  }

  /** Records what an agent has changed; a person decides whether that resolves the thread. */
  propose(id: string, saying: ThreadMessage): Promise<Thread> {
    return this.#step(id, (thread) => {
      refuseResolved("propose anything on", thread);
      return { ...saying, kind: "proposed", state: "proposed" };
    });
  }

  resolve(id: string, saying: ThreadMessage): Promise<Thread> {
    return this.#step(id, (thread) => {
      if (saying.role !== "person") throw refusal("resolve", thread, "only a person can");
      if (thread.state === "resolved") return undefined;
      return { ...saying, kind: "resolved", state: "resolved" };
    });
  }

  reopen(id: string, saying: ThreadMessage): Promise<Thread> {
    return this.#step(id, (thread) => {
      if (saying.role !== "person") throw refusal("reopen", thread, "only a person can");
      if (!["resolved", "answered", "proposed"].includes(thread.state)) {
        throw refusal("reopen", thread, `it is ${thread.state}`);
      }
      return { ...saying, kind: "reopened", state: "reopened" };
    });
  }

  /** Claims threads for one agent, as long as its process lives and the lease lasts. */
  claim(request: ClaimRequest): Promise<Thread[]> {
    const { agent, client, lease, gitDir, id, limit = 1 } = request;
    const moment = this.#moment;
    const { now } = moment;
    return this.database.change((database) => {
      const claimant = { agent, client, holder: this.holder.id };
      const threads =
        id === undefined
          ? freeThreads(database, gitDir, limit, moment)
          : [claimable(findThread(database, id, moment), claimant)];
      return threads.map((thread) => {
        const { id } = thread;
        const event = { thread: id, at: now, role: "agent" } as const;
        if (thread.storedState === "claimed" && thread.state !== "claimed") {
          append(database, { ...event, kind: "returned", by: "trunkline" });
        }
        if (thread.state !== "claimed") {
          append(database, { ...event, kind: "claimed", by: agent });
          sql(database).run`UPDATE thread SET state = 'claimed', state_before = ${thread.state},
            updated = ${now} WHERE id = ${id}`;
        }
        sql(database).run`UPDATE thread SET agent = ${agent}, holder = ${claimant.holder}, client
          = ${client ?? null}, lease = ${now + lease} WHERE id = ${id}`;
        return shown(findThread(database, id, moment));
      });
    });
  }

  /** Releases claims of this process: all of them, those on these threads, or those of a client. */
  async release(
    of: { readonly ids?: readonly string[]; readonly client?: string } = {},
  ): Promise<number> {
    const now = this.now();
    const holder = this.holder.known;
    if (holder === undefined) return 0;
    return this.database.change((database) => {
      const rows = sql(database).all`SELECT id FROM thread WHERE state = 'claimed'
        AND holder = ${holder}
        AND (${of.client ?? null} IS NULL OR client = ${of.client ?? null})`
        .map(({ id }) => String(id))
        .filter((id) => of.ids === undefined || of.ids.includes(id));
      for (const thread of rows) {
        append(database, { thread, kind: "returned", at: now, by: "trunkline", role: "agent" });
        sql(database).run`UPDATE thread SET state = state_before, agent = NULL, holder = NULL,
          lease = NULL,
          client = NULL, updated = ${now} WHERE id = ${thread}`;
      }
      return rows.length;
    });
  }

  /** Renews the lease of an agent that is active. */
  async renew(agent: string, lease: number, client?: string): Promise<void> {
    const holder = this.holder.known;
    if (holder === undefined) return;
    await this.database.run`UPDATE thread SET lease = ${this.now() + lease}
      WHERE state = 'claimed' AND holder = ${holder} AND agent = ${agent}
      AND client IS ${client ?? null}`;
  }

  take(request: DeliveryRequest): Promise<Delivery> {
    this.#journal.prepare();
    return this.#settle((database) => takeMessages(database, request, this.holder, this.#journal));
  }

  /** Number of messages that wait for a reader. */
  async waiting(reader: string, gitDir: string | null = null): Promise<number> {
    const row = await this.database.get`SELECT count(*) AS count FROM event
      JOIN thread ON thread.id = event.thread
      JOIN repository ON repository.id = event.message_in
      WHERE event.message_in IS NOT NULL AND thread.state <> 'resolved'
      AND (${gitDir} IS NULL OR git_dir = ${gitDir})
      AND NOT EXISTS (SELECT 1 FROM delivery WHERE reader = ${reader} AND message = event.seq)`;
    return Number(row?.count);
  }

  /** Call this right before the answer is sent: if this process dies now, it may have arrived. */
  leaving(reader: string, messages: readonly number[]): void {
    this.#journal.note({ reader, messages, isLeaving: true });
  }

  /**
   * Call this as soon as the answer has been sent. It does not wait for the disk: it protects against
   * the process being killed, so the record must be made as soon as possible. If it fails, the next
   * change writes the outcome to the database.
   */
  async sent(reader: string, messages: readonly number[]): Promise<void> {
    this.#owed.add({ reader, messages, isSent: true });
    let failure: unknown;
    try {
      this.#journal.note({ reader, messages });
    } catch (error) {
      failure = error;
    }
    try {
      await this.#settle(() => {}, { isHasty: true });
    } catch (error) {
      throw failure ?? error;
    }
  }

  /** Call this if the answer was not sent: the messages wait again, at the latest with the next change. */
  async takeBack(reader: string, messages: readonly number[]): Promise<void> {
    this.#owed.add({ reader, messages, isSent: false });
    await this.#settle(() => {});
  }

  /** Messages after a given one, in order. */
  async messagesAfter(seq: number, gitDir?: string): Promise<Message[]> {
    const query = `${MESSAGES}
      WHERE event.message_in IS NOT NULL AND event.seq > ? AND (?2 IS NULL OR git_dir = ?2)
      ORDER BY event.seq`;
    const rows = await this.database.read((it) => it.prepare(query).all(seq, gitDir ?? null));
    return rows.map(messageOf);
  }

  /** All events after a given one, in order. */
  async eventsAfter(seq: number, gitDir: string | null = null) {
    const rows = await this.database.all`SELECT event.*, path FROM event
      JOIN thread ON thread.id = event.thread
      JOIN repository ON repository.id = thread.repository
      WHERE seq > ${seq} AND (${gitDir} IS NULL OR git_dir = ${gitDir}) ORDER BY seq`;
    return rows.map((row) => {
      return { ...eventOf(row), thread: String(row.thread), path: String(row.path) };
    });
  }

  /** The sequence number of the last event that was recorded before a given time. */
  async lastSeq(before = Infinity): Promise<number> {
    const row = Number.isFinite(before)
      ? await this.database.get`SELECT max(seq) AS seq FROM event WHERE recorded < ${before}`
      : await this.database.get`SELECT max(seq) AS seq FROM event`;
    return Number(row?.seq ?? 0);
  }

  override [Symbol.dispose](): void {
    this.#journal.close(this.#owed.size === 0);
    super[Symbol.dispose]();
  }

  /** Runs a change, after writing the outcomes that are not in the database yet. */
  async #settle<T>(work: (database: DatabaseSync) => T, options?: ChangeOptions): Promise<T> {
    let settled: readonly Outcome[] = [];
    const result = await this.database.change((database) => {
      settled = [...this.#owed];
      for (const { reader, messages, isSent } of settled) {
        (isSent ? markSent : takeBack)(database, reader, messages);
      }
      return work(database);
    }, options);
    for (const outcome of settled) this.#owed.delete(outcome);
    return result;
  }

  get #moment(): QueryContext {
    return { now: this.now(), holder: this.holder };
  }

  /** Every change of a thread except claims: appends the event and sets the new state. */
  #step(id: string, decide: (thread: StoredThread) => Step | undefined): Promise<Thread> {
    const moment = this.#moment;
    const { now } = moment;
    return this.database.change((database) => {
      const thread = findThread(database, id, moment);
      const step = decide(thread);
      if (step === undefined) return shown(thread);
      if (step.role === "agent") {
        claimable(thread, { agent: step.by, client: step.client, holder: this.holder.known });
      }
      const { kind, by, role, text, proposal, state } = step;
      // What was said on another machine, whose clock is ahead, was said before.
      const at = Math.max(now, thread.updated);
      const messageIn = isMessage(step) ? thread.repositoryId : undefined;
      append(database, { thread: thread.id, kind, at, by, role, text, proposal, messageIn });
      sql(database).run`UPDATE thread SET state = ${state}, updated = ${at}
        WHERE id = ${thread.id}`;
      if (state !== "claimed") {
        sql(database).run`UPDATE thread SET agent = NULL, holder = NULL, client = NULL, lease =
          NULL WHERE id = ${thread.id}`;
      }
      return shown(findThread(database, thread.id, moment));
    });
  }
}

/** The outcome of messages that were taken for a reader. */
interface Outcome {
  readonly reader: string;
  readonly messages: readonly number[];
  readonly isSent: boolean;
}

interface Step extends ThreadMessage {
  readonly kind: "replied" | "proposed" | "resolved" | "reopened";
  readonly state: ThreadState;
}

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
function takeMessages(
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

/** Records that these messages were sent. */
function markSent(database: DatabaseSync, reader: string, messages: readonly number[]): void {
  for (const message of messages) {
    sql(database).run`UPDATE delivery SET sent = 1 WHERE reader = ${reader}
      AND message = ${message}`;
  }
}

/** Records that these messages were not sent, so that they wait again. */
function takeBack(database: DatabaseSync, reader: string, messages: readonly number[]): void {
  for (const message of messages) {
    sql(database).run`DELETE FROM delivery
      WHERE reader = ${reader} AND message = ${message} AND sent = 0`;
  }
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

/**
 * Records the messages that this process has sent, in a file of its own. Unlike the database it needs no
 * lock, so the record is there even if the process is killed right after sending. Other processes read
 * it when they find this one dead, and do not deliver these messages again.
 */
export class SentJournal {
  readonly #folder: string;
  readonly #holder: Pick<Holder, "id">;
  #file: number | undefined;
  #isTorn = false;

  constructor(data: string, holder: Pick<Holder, "id">) {
    this.#folder = join(data, "reviews-sent");
    this.#holder = holder;
  }

  /** Opens the file before a message is sent, so that the record is a single write. */
  prepare(): void {
    if (this.#file !== undefined) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#file = openSync(this.#pathOf(this.#holder.id), "a", 0o600);
  }

  note(note: Note): void {
    this.prepare();
    // After a partly written line, the next one starts on a new line.
    const line = Buffer.from(`${this.#isTorn ? "\n" : ""}${JSON.stringify(note)}\n`);
    const written = writeSync(this.#file ?? -1, line);
    this.#isTorn = written < line.length;
    if (this.#isTorn) throw new Error(`The disk took ${written} of ${line.length} bytes`);
  }

  /** The messages that a process has sent to a reader, and those that it was sending at the end. */
  notedBy(holder: string, reader: string): { sent: Set<number>; leaving: Set<number> } {
    // Without the file nothing was sent, or all of it is in the database.
    const text = attempt(() => readFileSync(this.#pathOf(holder), "utf8"), "");
    const sent = new Set<number>();
    const leaving = new Set<number>();
    for (const line of text.split("\n")) {
      // An incomplete line is none.
      const note = parsedJson(line) as Note | undefined;
      if (note?.reader !== reader) continue;
      for (const message of note.messages) (note.isLeaving === true ? leaving : sent).add(message);
    }
    return { sent, leaving: leaving.difference(sent) };
  }

  /** Closes the file, and removes it if the database has all of it. */
  close(isInStore: boolean): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
    if (isInStore) rmSync(this.#pathOf(this.#holder.id), { force: true });
  }

  #pathOf(holder: string): string {
    return join(this.#folder, `${holder.replaceAll(/[^\w.-]/g, "_")}.ndjson`);
  }
}

interface Note {
  readonly reader: string;
  readonly messages: readonly number[];
  /** They are about to be sent. */
  readonly isLeaving?: boolean;
}

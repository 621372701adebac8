import { DeliverPolicy, type JsMsg } from "@nats-io/jetstream";
import { atMost } from "../../base/abort.ts";
import type { Log } from "../../base/log.ts";
import type { ListedSession, SessionRecord } from "../../session/store.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { readEntry, recordOf, type SessionEntry } from "../ownership/session-entry.ts";
import { followStream, openReader } from "../stream-reader.ts";

/** Changes that are fetched ahead. */
const AHEAD = 1_000;
/** Milliseconds of one request for changes; twice in that time the server tells that it is there. */
const WAIT = 10_000;

/** The header that says that a key was deleted. */
const OPERATION = "KV-Operation";

/** Milliseconds that a list waits for the latest changes; then it is made of those that have come. */
const PATIENCE = 10_000;

/** What is kept of a session that is not deleted. A fleet may have 100,000 of them. */
interface Row {
  readonly id: string;
  readonly updated: number;
  readonly owner: string;
  readonly cwd: string;
  readonly holder: string | undefined;
  /** The node whose process took it last. */
  readonly node: string;
  /** The entry as JSON, one byte a character where it can be: an object would take several times as much. */
  readonly text: string;
}

/** How the entry of a session was, and is; undefined where the session does not exist or was deleted. */
export interface EntryChange {
  readonly id: string;
  readonly before: Pick<Row, "node" | "holder"> | undefined;
  readonly now: Pick<Row, "node" | "holder"> | undefined;
}

interface EntryOptions extends ListOptions {
  readonly accepts?: ((entry: SessionEntry) => boolean) | undefined;
}

export interface ListOptions {
  readonly cwd?: string | undefined;
  readonly owner?: string | undefined;
  readonly after?: ListedSession | undefined;
  readonly limit?: number;
}

export interface SessionMirrorOptions {
  readonly connection: FleetConnection;
  /** The last revision of the bucket. */
  readonly lastRevision: () => Promise<number>;
  readonly isAlive: (holder: string) => boolean;
  readonly log: Log;
}

/** A copy of all entries of sessions that follows the bucket, for lists of sessions. */
export class SessionMirror implements AsyncDisposable {
  readonly #options: SessionMirrorOptions;
  /** In the order of their last change, so that they are nearly sorted. */
  readonly #rows = new Map<string, Row>();
  /** By last use, the latest first; undefined after a change. */
  #order: readonly Row[] | undefined;
  readonly #listeners = new Set<(change: EntryChange) => void>();
  #revision = 0;
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  /** Each of its readers begins with all entries, deleted ones included. */
  readonly #follower: ReturnType<typeof followStream>;

  constructor(options: SessionMirrorOptions) {
    this.#options = options;
    const { connection, log } = options;
    const reading = { deliver_policy: DeliverPolicy.LastPerSubject };
    const fetching = { max_messages: AHEAD, expires: WAIT };
    const stream = `KV_${connection.subjects.sessions}`;
    this.#follower = followStream({
      connection,
      open: () => openReader(connection.nats, stream, reading, fetching),
      heard: (message) => this.#take(message),
      failed: (error) => log.warn("fleet.sessions-not-followed", { error }),
    });
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Sessions by last use, newest first. `owner` "" finds those without one. */
  async list(options: ListOptions = {}): Promise<SessionRecord[]> {
    await this.caughtUp();
    return this.entries(options).map((entry) => recordOf(entry, this.#options.isAlive));
  }

  /** What is known of sessions now, by last use, newest first. */
  entries({
    cwd,
    owner,
    after,
    limit = Infinity,
    accepts = () => true,
  }: EntryOptions = {}): SessionEntry[] {
    this.#order ??= [...this.#rows.values()].toReversed().toSorted(compare);
    return this.#order
      .values()
      .filter((row) => after === undefined || compare(row, after) > 0)
      .filter((row) => row.cwd === (cwd ?? row.cwd) && row.owner === (owner ?? row.owner))
      .map(entryOf)
      .filter(accepts)
      .take(limit)
      .toArray();
  }

  /** The sessions that some process has open, as far as is known now. */
  held(): SessionEntry[] {
    return this.#heldRows().map(entryOf);
  }

  get(id: string): SessionEntry | undefined {
    const row = this.#rows.get(id);
    return row && entryOf(row);
  }

  /** Calls back for each change. Returns how to stop that. */
  onChange(listener: (change: EntryChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ids of the sessions of an owner that some process has open. */
  async openOf(owner: string): Promise<string[]> {
    await this.caughtUp();
    return this.#heldRows((row) => row.owner === owner).map(({ id }) => id);
  }

  #heldRows(accepts: (row: Row) => boolean = () => true): Row[] {
    const { isAlive } = this.#options;
    const isHeld = ({ holder }: Row): boolean => holder !== undefined && isAlive(holder);
    return this.#rows.values().filter(accepts).filter(isHeld).toArray();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { resolve } of this.#waiting) resolve();
    await this.#follower[Symbol.asyncDispose]();
  }

  /** Waits for the changes up to now. Without an answer of NATS, the list is what was known before. */
  async caughtUp(): Promise<void> {
    const revision = await this.#options.lastRevision().catch(() => 0);
    if (revision <= this.#revision) return;
    const { promise, resolve } = Promise.withResolvers<true>();
    const waiting = { revision, resolve: () => resolve(true) };
    this.#waiting.add(waiting);
    if ((await atMost(PATIENCE, promise)) === undefined) this.#follower.restart();
    this.#waiting.delete(waiting);
  }

  #take({ subject, headers, data, seq }: JsMsg): void {
    const prefix = `$KV.${this.#options.connection.subjects.sessions}.`;
    // JetStream may have delivered it here from another stream, with the subject that it had there.
    if (!subject.startsWith(prefix)) return;
    const id = subject.slice(prefix.length);
    try {
      const isDeleted = headers?.has(OPERATION) ?? false;
      this.#apply(id, isDeleted ? undefined : this.#rowOf(id, data));
    } catch (error) {
      this.#options.log.warn("fleet.session-not-read", { session: id, error });
    }
    this.#revision = Math.max(this.#revision, seq);
    for (const { revision, resolve } of this.#waiting) {
      if (revision <= this.#revision) resolve();
    }
  }

  #apply(id: string, now: Row | undefined): void {
    const before = this.#rows.get(id);
    this.#rows.delete(id);
    if (now !== undefined) this.#rows.set(id, now);
    this.#order = undefined;
    for (const listener of this.#listeners) listener({ id, before, now });
  }

  #rowOf(key: string, value: Uint8Array): Row | undefined {
    const text = Buffer.from(value).toString("utf8");
    const entry = readEntry(key, text);
    if (entry === undefined) throw new Error("it is no entry of a session");
    const { record, holder, node, deleted } = entry;
    if (deleted !== undefined) return undefined;
    const { id, updated, cwd, notes } = record;
    const owner = typeof notes.owner === "string" ? notes.owner : "";
    return { id, updated, owner, cwd, holder, node, text };
  }
}

function entryOf({ text }: Row): SessionEntry {
  return JSON.parse(text) as SessionEntry;
}

/** The last used comes first. */
function compare(one: ListedSession, other: ListedSession): number {
  if (one.updated !== other.updated) return other.updated - one.updated;
  return one.id > other.id ? -1 : Number(one.id < other.id);
}

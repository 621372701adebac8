import { DeliverPolicy } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { atMost } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import type { ListedSession, SessionRecord } from "../../session/store.ts";
import type { NatsLink } from "../ownership/nats-link.ts";
import { readEntry, recordOf, type SessionEntry } from "../ownership/session-entry.ts";
import { openReader } from "../stream-reader.ts";

/** Changes that are fetched ahead. */
const AHEAD = 1_000;
/** Milliseconds of one request for changes; twice in that time the server tells that it is there. */
const WAIT = 10_000;

/** The header that says that a key was deleted. */
const OPERATION = "KV-Operation";

interface BucketChange {
  readonly key: string;
  /** Undefined if the key was deleted. */
  readonly value: Uint8Array | undefined;
  readonly revision: number;
}

export interface BucketWatch extends AsyncIterable<BucketChange> {
  /** Ends the iteration. */
  stop(): void;
}

/**
 * All entries of a key-value bucket, and then each change, until it ends: see `openReader()`. What is
 * deleted is told, also where nobody was told of it before.
 */
export async function watchBucket(nats: NatsConnection, bucket: string): Promise<BucketWatch> {
  const reading = { deliver_policy: DeliverPolicy.LastPerSubject };
  const options = { max_messages: AHEAD, expires: WAIT };
  const reader = await openReader(nats, `KV_${bucket}`, reading, options);
  const prefix = `$KV.${bucket}.`;
  return {
    stop: () => reader.stop(),
    async *[Symbol.asyncIterator]() {
      await using _ends = reader;
      for await (const { subject, headers, data, seq: revision } of reader) {
        // JetStream may have delivered it here from another stream, with the subject that it had there.
        if (!subject.startsWith(prefix)) continue;
        const isDeleted = headers?.has(OPERATION) ?? false;
        yield { key: subject.slice(prefix.length), value: isDeleted ? undefined : data, revision };
      }
    },
  };
}

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
  /** All entries of the bucket, and then each change. */
  readonly watch: () => Promise<BucketWatch>;
  /** The last revision of the bucket. */
  readonly lastRevision: () => Promise<number>;
  readonly isAlive: (holder: string) => boolean;
  readonly link: Pick<NatsLink, "pause" | "onReconnect">;
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
  /** Undefined between two watches: one that has ended cannot be iterated again. */
  #watch: BucketWatch | undefined;
  #isOver = false;
  readonly #following: Promise<void>;
  readonly #reconnects: Disposable;

  private constructor(options: SessionMirrorOptions, watch: BucketWatch) {
    this.#options = options;
    this.#watch = watch;
    // A server that was restarted does not know any more who watches.
    this.#reconnects = options.link.onReconnect(() => this.#watch?.stop());
    this.#following = this.#follow();
    background(this.#following, "Following the bucket of sessions");
  }

  static async open(options: SessionMirrorOptions): Promise<SessionMirror> {
    return new SessionMirror(options, await options.watch());
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
  entries({ cwd, owner, after, limit = Infinity, accepts }: EntryOptions = {}): SessionEntry[] {
    const listed: SessionEntry[] = [];
    this.#order ??= [...this.#rows.values()].toReversed().toSorted(compare);
    for (const row of this.#order) {
      if (listed.length >= limit) break;
      if (after !== undefined && compare(row, after) <= 0) continue;
      if (cwd !== undefined && row.cwd !== cwd) continue;
      if (owner !== undefined && row.owner !== owner) continue;
      const entry = JSON.parse(row.text) as SessionEntry;
      if (accepts === undefined || accepts(entry)) listed.push(entry);
    }
    return listed;
  }

  /** The sessions that some process has open, as far as is known now. */
  held(): SessionEntry[] {
    const held: SessionEntry[] = [];
    for (const { holder, text } of this.#rows.values()) {
      if (holder === undefined || !this.#options.isAlive(holder)) continue;
      held.push(JSON.parse(text) as SessionEntry);
    }
    return held;
  }

  get(id: string): SessionEntry | undefined {
    const row = this.#rows.get(id);
    return row && (JSON.parse(row.text) as SessionEntry);
  }

  /** Calls back for each change. Returns how to stop that. */
  onChange(listener: (change: EntryChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ids of the sessions of an owner that some process has open. */
  async openOf(owner: string): Promise<string[]> {
    await this.caughtUp();
    const ids: string[] = [];
    for (const row of this.#rows.values()) {
      if (row.owner !== owner || row.holder === undefined) continue;
      if (this.#options.isAlive(row.holder)) ids.push(row.id);
    }
    return ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#reconnects[Symbol.dispose]();
    this.#watch?.stop();
    for (const { resolve } of this.#waiting) resolve();
    await this.#following;
  }

  /** Waits for the changes up to now. Without an answer of NATS, the list is what was known before. */
  async caughtUp(): Promise<void> {
    let revision: number;
    try {
      revision = await this.#options.lastRevision();
    } catch {
      return;
    }
    if (revision <= this.#revision) return;
    const { promise, resolve } = Promise.withResolvers<true>();
    const waiting = { revision, resolve: () => resolve(true) };
    this.#waiting.add(waiting);
    if ((await atMost(PATIENCE, promise)) === undefined) this.#watch?.stop();
    this.#waiting.delete(waiting);
  }

  async #follow(): Promise<void> {
    const { watch, link, log } = this.#options;
    for (let attempt = 1; !this.#isOver; attempt++) {
      try {
        // Each watch begins with all entries.
        this.#watch ??= await watch();
        attempt = 0;
        if (this.#isOver) this.#watch.stop();
        for await (const change of this.#watch) this.#take(change);
      } catch (error) {
        log.warn("fleet.sessions-not-followed", { error });
      }
      this.#watch = undefined;
      if (!this.#isOver) await link.pause(attempt + 1);
    }
  }

  #take(change: BucketChange): void {
    try {
      this.#apply(change);
    } catch (error) {
      this.#options.log.warn("fleet.session-not-read", { session: change.key, error });
    }
    this.#revision = Math.max(this.#revision, change.revision);
    for (const { revision, resolve } of this.#waiting) {
      if (revision <= this.#revision) resolve();
    }
  }

  #apply(change: BucketChange): void {
    const row = change.value && this.#rowOf(change.key, change.value);
    const before = this.#rows.get(change.key);
    this.#rows.delete(change.key);
    if (row !== undefined) this.#rows.set(row.id, row);
    this.#order = undefined;
    for (const listener of this.#listeners) listener({ id: change.key, before, now: row });
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

/** The last used comes first. */
function compare(one: ListedSession, other: ListedSession): number {
  if (one.updated !== other.updated) return other.updated - one.updated;
  return one.id > other.id ? -1 : Number(one.id < other.id);
}

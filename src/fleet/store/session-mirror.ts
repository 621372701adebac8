import type { JetStreamManager } from "@nats-io/jetstream";
import type { KV, KvWatchEntry } from "@nats-io/kv";

import { background } from "../../base/background.ts";
import type { ListedSession, SessionRecord } from "../../session/store.ts";
import { recordOf, type SessionEntry } from "../ownership/session-entry.ts";

/** Milliseconds that a list waits for the latest changes; then it is made of those that have come. */
const PATIENCE = 2_000;

/** What is kept of a session that is not deleted. A fleet may have 100,000 of them. */
interface Row {
  readonly id: string;
  readonly updated: number;
  readonly owner: string;
  readonly cwd: string;
  readonly holder: string | undefined;
  /** The entry as JSON, one byte a character where it can be: an object would take several times as much. */
  readonly text: string;
}

export interface ListOptions {
  readonly cwd?: string;
  readonly owner?: string;
  readonly after?: ListedSession;
  readonly limit?: number;
}

/** A copy of all entries of sessions that follows the bucket, for lists of sessions. */
export class SessionMirror implements AsyncDisposable {
  readonly #watch: Awaited<ReturnType<KV["watch"]>>;
  readonly #lastRevision: () => Promise<number>;
  readonly #isAlive: (holder: string) => boolean;
  readonly #rows = new Map<string, Row>();
  /** By last use, the latest first. */
  readonly #order: Row[] = [];
  readonly #cwds = new Map<string, string>();
  #revision = 0;
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  readonly #following: Promise<void>;

  private constructor(
    watch: Awaited<ReturnType<KV["watch"]>>,
    lastRevision: () => Promise<number>,
    isAlive: (holder: string) => boolean,
  ) {
    this.#watch = watch;
    this.#lastRevision = lastRevision;
    this.#isAlive = isAlive;
    this.#following = this.#follow();
    background(this.#following, "Following the bucket of sessions");
  }

  static async open(options: {
    readonly kv: KV;
    readonly manager: JetStreamManager;
    /** Name of the bucket's stream. */
    readonly stream: string;
    readonly isAlive: (holder: string) => boolean;
  }): Promise<SessionMirror> {
    const { kv, manager, stream, isAlive } = options;
    const lastRevision = async (): Promise<number> =>
      (await manager.streams.info(stream)).state.last_seq;
    return new SessionMirror(await kv.watch(), lastRevision, isAlive);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Sessions by last use, newest first. `owner` "" finds those without one. */
  async list({ cwd, owner, after, limit = Infinity }: ListOptions = {}): Promise<SessionRecord[]> {
    await this.#caughtUp();
    const listed: SessionRecord[] = [];
    let at = after === undefined ? 0 : placeOf(this.#order, after);
    if (after !== undefined && this.#order[at]?.id === after.id) at++;
    for (; at < this.#order.length && listed.length < limit; at++) {
      const row = this.#order[at] as Row;
      if (cwd !== undefined && row.cwd !== cwd) continue;
      if (owner !== undefined && row.owner !== owner) continue;
      listed.push(recordOf(JSON.parse(row.text) as SessionEntry, this.#isAlive));
    }
    return listed;
  }

  /** Ids of the sessions of an owner that some process has open. */
  async openOf(owner: string): Promise<string[]> {
    await this.#caughtUp();
    const ids: string[] = [];
    for (const row of this.#order) {
      if (row.owner !== owner || row.holder === undefined) continue;
      if (this.#isAlive(row.holder)) ids.push(row.id);
    }
    return ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch.stop();
    for (const { resolve } of this.#waiting) resolve();
    await this.#following;
  }

  /** Waits for the changes up to now. Without an answer of NATS, the list is what was known before. */
  async #caughtUp(): Promise<void> {
    let revision: number;
    try {
      revision = await this.#lastRevision();
    } catch {
      return;
    }
    if (revision <= this.#revision) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = { revision, resolve };
    this.#waiting.add(waiting);
    const timer = setTimeout(resolve, PATIENCE).unref();
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(waiting);
  }

  async #follow(): Promise<void> {
    for await (const entry of this.#watch) {
      this.#apply(entry);
      this.#revision = entry.revision;
      for (const { revision, resolve } of this.#waiting) {
        if (revision <= entry.revision) resolve();
      }
    }
  }

  #apply(change: KvWatchEntry): void {
    const before = this.#rows.get(change.key);
    if (before !== undefined) this.#order.splice(placeOf(this.#order, before), 1);
    const row = change.operation === "PUT" ? this.#rowOf(change) : undefined;
    if (row === undefined) {
      this.#rows.delete(change.key);
      return;
    }
    this.#rows.set(row.id, row);
    this.#order.splice(placeOf(this.#order, row), 0, row);
  }

  #rowOf(change: KvWatchEntry): Row | undefined {
    const text = Buffer.from(change.value).toString("utf8");
    const { record, holder, deleted } = JSON.parse(text) as SessionEntry;
    if (deleted !== undefined) return undefined;
    const { id, updated, notes } = record;
    const owner = typeof notes.owner === "string" ? notes.owner : "";
    // Many sessions share a folder.
    const cwd = this.#cwds.get(record.cwd) ?? record.cwd;
    this.#cwds.set(cwd, cwd);
    return { id, updated, owner, cwd, holder, text };
  }
}

/** Where a session is in the order, or would be. */
function placeOf(order: readonly Row[], { updated, id }: ListedSession): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = order[middle] as Row;
    const isBefore = row.updated > updated || (row.updated === updated && row.id > id);
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}

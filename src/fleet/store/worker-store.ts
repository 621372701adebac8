import { TaskQueue } from "../../base/limit/task-queue.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { StoredEvent } from "../../session/event.ts";
import type {
  AppendResult,
  HeldSession,
  NewSession,
  SessionRecord,
  SessionStore,
} from "../../session/store.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SessionReplicas } from "../../store/session/session-replicas.ts";
import { nodeIdOf } from "../ownership/node-id.ts";
import { type Claim, type EntryChange, FencedError, Ownership } from "../ownership/ownership.ts";
import { newRecord, recordOf, type SessionEntry, told } from "../ownership/session-entry.ts";
import { copyEvents, eventsUpTo, readEvents } from "./read-events.ts";
import { HeldReplica, notOpen } from "./held-replica.ts";
import { type SessionStreams, openSessionStreams } from "./session-streams.ts";
import { FleetStore, type FleetStoreOptions } from "./fleet-store.ts";
import type { Page } from "../../store/session/session-pages.ts";
import { eventPages } from "../ownership/event-pages.ts";
import { EventPublisher, type EventPublisherOptions } from "../ownership/event-publisher.ts";
import type { Journal } from "../ownership/journal.ts";

export interface WorkerStoreOptions extends FleetStoreOptions {
  /** The data folder of this worker. */
  readonly data: string;
  /** Another worker has taken a session that this one holds. Its agent must stop. */
  readonly lost: (sessionId: string) => void;
}

/** If a worker lacks at most so many events of a session, it reads all of them, and not only the last. */
const MOST_BEHIND = 100;

/**
 * The sessions of a fleet, as a worker has them. Events are appended to the local log, published, and
 * count as stored when NATS has acknowledged them.
 */
export class WorkerStore extends FleetStore implements SessionStore, AsyncDisposable {
  readonly #options: WorkerStoreOptions;
  readonly #ownership: Ownership;
  readonly #replicas: SessionReplicas;
  readonly #held = new Map<number, HeldReplica>();
  readonly #byId = new Map<string, HeldReplica>();
  /** Taking, releasing and deleting a session come one after the other. */
  readonly #queue = new TaskQueue();
  #isClosed = false;
  /** The local log of this worker's data folder. */
  readonly log: SessionLog;
  /** The stable id of this node. */
  readonly node: string;

  private constructor(
    options: WorkerStoreOptions,
    streams: SessionStreams,
    log: SessionLog,
    node: string,
  ) {
    const { holder } = log;
    const isAlive = (other: string): boolean => other === holder || options.isAlive(other);
    super(streams, { isAlive, log: options.log });
    this.#options = options;
    this.log = log;
    this.node = node;
    this.#replicas = new SessionReplicas(log.database);
    const { records, journal, connection } = streams;
    const { pause } = connection;
    this.#ownership = new Ownership({ records, journal, holder, node, isAlive, pause });
  }

  static async open(options: WorkerStoreOptions): Promise<WorkerStore> {
    await using opening = new AsyncDisposableStack();
    const streams = opening.use(await openSessionStreams(options.connection));
    const node = await nodeIdOf(options.data);
    // Nobody is shown an event before NATS has it, so the local log need not wait for the disk.
    const log = opening.use(await SessionLog.open(options.data, { isHasty: true }));
    const store = new WorkerStore(options, streams, log, node);
    opening.move();
    return store;
  }

  /** The id under which this process holds sessions. */
  get holder(): string {
    return this.log.holder;
  }

  override async holderOf(id: string): Promise<string | undefined> {
    const held = this.#byId.get(id);
    if (held !== undefined && held.failure === undefined) return this.holder;
    return await super.holderOf(id);
  }

  /**
   * Throws "closed" unless this process holds the session. NATS is asked, since another worker may have
   * taken the session without this one's knowledge.
   */
  async confirm(id: string): Promise<void> {
    const held = this.#byId.get(id);
    if (held === undefined) throw notOpen(id);
    await held.queue.run(async () => {
      // The first notice may have come while the session was being opened.
      if (held.isLost) this.#options.lost(id);
      if (held.failure !== undefined) throw held.failure;
      const { epoch, holder } = await this.need(id);
      if (epoch === held.claim.epoch && holder === this.holder) return;
      this.#failed(held.key, new FencedError(`Another process has taken session '${id}'.`));
      throw held.failure ?? notOpen(id);
    });
  }

  create(session: NewSession): Promise<HeldSession> {
    return this.#inTurn(session.id, async () => {
      const claim = await this.#ownership.create(newRecord(session));
      return await this.#orForget(session.id, () => this.#begin(claim));
    });
  }

  async fork(from: string, session: NewSession, upTo = Infinity): Promise<HeldSession> {
    const source = await this.need(from);
    return await this.#inTurn(session.id, async () => {
      // It looks deleted until all its events are there.
      const claim = await this.#ownership.create(newRecord(session), true);
      return await this.#orForget(session.id, () => this.#copy(from, source, claim, upTo));
    });
  }

  hold(id: string): Promise<HeldSession> {
    return this.#inTurn(id, async () => {
      const held = this.#byId.get(id);
      if (held !== undefined && held.failure === undefined && !held.isLeft) {
        held.leaving = undefined;
        // Another worker may have taken it while this one was leaving it. Then it is taken anew.
        await this.confirm(id).catch((error: unknown) => {
          if (held.failure === undefined) throw error;
        });
        const { key, last, failure } = held;
        if (failure === undefined) return { key, record: this.#recordOf(key), last };
      }
      if (held !== undefined) await this.#end(held);
      for (;;) {
        const claim = await this.#ownership.take(id);
        try {
          // Events that this process could not store have failed, and their callers were told.
          return await this.#begin(claim, held !== undefined);
        } catch (error) {
          // The next attempt finds the process that has taken it.
          if (error instanceof FencedError) continue;
          await this.#ownership.write(claim, { holder: undefined }).catch(() => {});
          throw error;
        }
      }
    });
  }

  async release(key: number): Promise<void> {
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.leaving ??= this.#leave(held);
    await held.left();
  }

  append(key: number, direction: "client" | "agent", text: string): AppendResult {
    return this.#held.get(key)?.append(direction, text) ?? this.log.append(key, direction, text);
  }

  async describe(
    key: number,
    change: { readonly title?: string; readonly notes?: object; readonly updated?: number },
  ): Promise<void> {
    const held = this.#held.get(key);
    if (held === undefined) return;
    await held.queue.run(async () => {
      const { record } = held.claim.entry;
      const { title = record.title, notes = record.notes, updated = record.updated } = change;
      const described = { ...record, title, notes: { ...notes }, updated };
      await this.#write(key, { record: described });
      await this.log.describe(key, change);
    });
  }

  override async find(id: string): Promise<SessionRecord | undefined> {
    const held = this.#byId.get(id);
    if (held !== undefined && held.failure === undefined) return this.#recordOf(held.key);
    return await super.find(id);
  }

  async *read(id: string, after = 0): AsyncGenerator<readonly StoredEvent[]> {
    const held = this.#byId.get(id);
    const isHeld = held !== undefined && held.failure === undefined;
    // Events that NATS has not acknowledged may be lost, so they are not shown.
    const { first, last } = isHeld ? held : { first: Infinity, last: Infinity };
    if (after + 1 < first) yield* readEvents(this.streams, id, after, first - 1);
    if (isHeld) yield* eventsUpTo(last, this.log.read(id, Math.max(after, first - 1)));
  }

  delete(id: string): Promise<void> {
    return this.#inTurn(id, async () => {
      const held = this.#byId.get(id);
      if (held !== undefined) await this.#end(held);
      await this.#ownership.delete(id);
      const local = await this.log.find(id);
      if (local !== undefined) await this.log.delete(id);
    });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    if (!this.streams.connection.nats.isClosed()) {
      await Promise.allSettled(Array.from(this.#held.keys(), (key) => this.release(key)));
    }
    const closed = new TrunklineError("closed", "The store of sessions is closed.");
    for (const held of this.#held.values()) held.fail(closed);
    await super[Symbol.asyncDispose]();
    await this.log[Symbol.asyncDispose]();
  }

  /** Begins a session that was created with the events of another. */
  async #copy(
    from: string,
    { born }: SessionEntry,
    claim: Claim,
    upTo: number,
  ): Promise<HeldSession> {
    const key = await this.log.adopt(recordOf(claim.entry, () => true));
    const copying = { streams: this.streams, replicas: this.#replicas };
    await copyEvents(copying, { id: from, born }, key, upTo);
    await this.#replicas.setMark(key, claim);
    const begun = await this.#begin(claim);
    const held = this.#held.get(key);
    await held?.queue.run(() => this.#write(key, { deleted: undefined }));
    return { ...begun, record: this.#recordOf(key) };
  }

  /** Deletes a session again that could not be begun. */
  async #orForget<T>(id: string, begin: () => Promise<T>): Promise<T> {
    try {
      return await begin();
    } catch (error) {
      // If this fails too, the session stays without events, and opening it fails with the same error.
      await this.#ownership.delete(id).catch(() => {});
      throw error;
    }
  }

  /** Opens a session that was taken, with the events that it has in NATS. */
  async #begin(claim: Claim, isTailDropped = false): Promise<HeldSession> {
    const { journal, mostBytes, connection } = this.streams;
    const { id } = claim;
    const key = await this.log.adopt(recordOf(claim.entry, () => true));
    const publisher = await catchUp(
      {
        ...{ journal, replicas: this.#replicas, node: this.node, claim, isTailDropped },
        mostBehind: MOST_BEHIND,
        publishing: {
          mostBytes,
          pause: connection.pause,
          failed: (error) => this.#failed(key, error),
          unanswered: (error, attempt) =>
            this.#options.log.warn("fleet.not-acknowledged", { session: id, attempt, error }),
        },
      },
      key,
    );
    const { record } = await this.log.hold(id);
    const taken = { claim, publisher, first: await this.#replicas.first(key) };
    const before = this.#held.get(key);
    before?.resume(taken);
    const held = before ?? new HeldReplica(this.log, key, taken);
    this.#held.set(key, held);
    this.#byId.set(id, held);
    return { key, record: { ...record, isHeld: true }, last: publisher.last };
  }

  /** Publishing has failed for good: another process has the session, or NATS refuses to store more. */
  #failed(key: number, error: Error): void {
    const held = this.#held.get(key);
    if (held === undefined || held.isLost) return;
    const { id } = held;
    if (error instanceof FencedError) {
      held.isLost = true;
      held.fail(new TrunklineError("closed", `Session '${id}' has moved to another worker.`));
      this.#options.log.warn("fleet.session-lost", { session: id });
      this.#options.lost(id);
      return;
    }
    const says = `Cannot store events of session '${id}'. ${error.message}`;
    held.fail(new TrunklineError("unavailable", says, { cause: error }));
    this.#options.log.error("fleet.session-not-stored", { session: id, error });
    background(this.#takeAgain(held), "Taking a session again");
  }

  /** Reuses the numbers of refused events in a new epoch, since a copy of a refused message may still arrive. */
  async #takeAgain(held: HeldReplica): Promise<void> {
    for (let attempt = 1; !this.#isClosed; attempt++) {
      await this.streams.connection.pause(attempt);
      try {
        await this.#inTurn(held.id, async () => {
          if (this.#held.get(held.key) !== held || held.isLeft) return;
          await this.log.release(held.key);
          await held.queue.run(async () => {
            const claim = await this.#ownership.take(held.id);
            await this.#begin(claim, true);
          });
        });
        return;
      } catch (error) {
        const isGone = error instanceof TrunklineError && error.code !== "unavailable";
        if (isGone) return this.#failed(held.key, new FencedError(error.message));
        this.#options.log.warn("fleet.session-not-stored", { session: held.id, attempt, error });
      }
    }
  }

  async #leave(held: HeldReplica): Promise<void> {
    await held.drained();
    await this.#inTurn(held.id, async () => {
      // It may have been opened again meanwhile.
      if (held.leaving === undefined || this.#held.get(held.key) !== held) return;
      held.isLeft = true;
      for (let attempt = 1; held.failure === undefined; attempt++) {
        try {
          await held.queue.run(() => this.#write(held.key, { holder: undefined }));
          break;
        } catch (error) {
          this.#options.log.warn("fleet.session-not-released", { session: held.id, error });
          if (this.#isClosed) break;
          await this.streams.connection.pause(attempt);
        }
      }
      await this.#end(held);
    });
  }

  /** Forgets a session, whose events are stored or have failed. */
  async #end(held: HeldReplica): Promise<void> {
    held.fail(notOpen(held.id));
    this.#held.delete(held.key);
    this.#byId.delete(held.id);
    await this.log.release(held.key);
  }

  async #write(key: number, change: Omit<EntryChange, "bookmark">): Promise<void> {
    const held = this.#held.get(key);
    if (held === undefined) return;
    if (held.failure !== undefined) throw held.failure;
    const bookmark = held.bookmarkFor((change.record ?? held.claim.entry.record).notes);
    const writing = this.#ownership.write(held.claim, { ...change, bookmark });
    held.claim = await writing.catch((error: unknown) => {
      if (error instanceof FencedError) this.#failed(key, error);
      throw held.failure ?? told(error);
    });
  }

  #recordOf(key: number): SessionRecord {
    const held = this.#held.get(key);
    if (held === undefined) throw new TrunklineError("closed", `Session ${key} is not open here.`);
    return recordOf(held.claim.entry, () => true);
  }

  /** Runs tasks of one session one after the other. */
  async #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    return await this.#queue.run(work, id).catch((error: unknown) => {
      throw told(error);
    });
  }
}

/** Characters that are written to the local log at a time. */
const WRITE = 1024 * 1024;

/** Characters of messages that become one row of the local log: one for each message takes far longer. */
const ROW = 64 * 1024;

/** The local events of sessions, see `SessionReplicas`. */
export type Replicas = Pick<SessionReplicas, "mark" | "setMark" | "last" | "replace" | "after">;

interface RestoreOptions {
  readonly journal: Journal;
  readonly replicas: Replicas;
  /** The stable id of this node. */
  readonly node: string;
  /** If the local log lacks at most so many events, they are read, so that it is complete. */
  readonly mostBehind: number;
}

export interface CatchUpOptions extends RestoreOptions {
  readonly claim: Claim;
  /** The events that only the local log has were refused before, and are removed. */
  readonly isTailDropped: boolean;
  readonly publishing: Pick<EventPublisherOptions, "mostBytes" | "pause" | "failed" | "unanswered">;
}

/**
 * Makes the local log and the journal the same for a session that was taken. Returns what publishes its
 * further events.
 */
export async function catchUp(options: CatchUpOptions, session: number): Promise<EventPublisher> {
  const { journal, replicas, node, claim, isTailDropped, publishing } = options;
  const { id, epoch, sequence, last } = claim;
  await restoreReplica(options, session, claim);
  if (isTailDropped) await replicas.replace(session, last, []);
  const publisher = new EventPublisher({
    ...{ journal, id, epoch, node, sequence, last },
    ...publishing,
  });
  for await (const page of replicas.after(session, last)) await publisher.add(page);
  return publisher;
}

/**
 * Makes the local events of a session that was taken the same as the last ones in the journal: from the
 * bookmark on, where this node has not those before it. Events that only the local log has, after the
 * last one in the journal, stay if no other node has written since: this node's process ended before
 * they were published. Otherwise they were replaced, and are removed.
 */
async function restoreReplica(
  restoring: RestoreOptions,
  session: number,
  claim: Claim,
): Promise<void> {
  const { replicas, mostBehind } = restoring;
  const { born, bookmark } = claim.entry;
  const mark = await replicas.mark(session);
  const isKnown = mark !== undefined && mark.epoch >= born;
  const known = isKnown ? await replicas.last(session) : 0;
  const isNear = bookmark === undefined || bookmark.last - known <= mostBehind;
  const beginnings: StartPoint[] = [
    ...(isKnown && isNear ? [mark] : []),
    ...(isNear ? [] : [{ epoch: -1, ...bookmark }]),
    { epoch: -1, sequence: 0 },
  ];
  for (const beginning of beginnings) {
    const isEmpty = beginning === mark || (await replicas.last(session)) === 0;
    if (!isEmpty) await replicas.replace(session, 0, []);
    if (await restoreFrom(restoring, session, claim, beginning)) return;
  }
  throw incomplete(claim);
}

/** The first message to read, and the epoch of the local events. */
interface StartPoint {
  readonly epoch: number;
  readonly sequence: number;
  /** Number of the last event of that message, if events before it are left out. */
  readonly last?: number;
}

/** Notes the mark of the claim. Returns false where the local events and those of the journal leave a gap. */
async function restoreFrom(
  { journal, replicas, node }: RestoreOptions,
  session: number,
  claim: Claim,
  { epoch: begun, sequence, last: bookmarked }: StartPoint,
): Promise<boolean> {
  let epoch = begun;
  let isFirst = bookmarked !== undefined;
  let isReplaced = false;
  let last = await replicas.last(session);
  let kept = last;
  let pages: Page[] = [];
  let characters = 0;
  const write = async (): Promise<void> => {
    await replicas.replace(session, kept, pages);
    kept = last;
    pages = [];
    characters = 0;
  };
  const messages = journal.read(claim.id, sequence, claim.sequence);
  for await (const page of eventPages(messages, claim.entry.born)) {
    if (page.epoch === claim.epoch) break;
    // This node may have taken the session and ended before it noted that. It has published nothing.
    if (page.node === node && page.lines === "") epoch = page.epoch;
    if (page.epoch !== epoch && !isReplaced) {
      isReplaced = true;
      last = Math.min(last, page.first - 1);
      kept = last;
    }
    if (isFirst) {
      if (page.last !== bookmarked || page.lines === "") return false;
      isFirst = false;
      last = page.first - 1;
      kept = last;
    }
    if (page.last <= last) continue;
    if (page.first > last + 1) return false;
    if (page.first <= last) await cutBefore(page.first);
    addPage(pages, { session, first: page.first, last: page.last, lines: page.lines });
    last = page.last;
    characters += page.lines.length;
    if (characters >= WRITE) await write();
  }
  if (last < claim.last) return false;
  // In one transaction with the mark: after the loss of a worker, many sessions wait for the database.
  if (isReplaced || pages.length > 0) await replicas.replace(session, kept, pages, claim);
  else await replicas.setMark(session, claim);
  return true;

  async function cutBefore(first: number): Promise<void> {
    last = first - 1;
    kept = Math.min(kept, last);
    await write();
  }
}

/** Joins events to the last page, or begins another. */
function addPage(pages: Page[], page: Page): void {
  const before = pages.at(-1);
  const isFull = before === undefined || before.lines.length + page.lines.length > ROW;
  if (isFull || page.first !== before.last + 1) pages.push(page);
  else {
    before.last = page.last;
    before.lines += page.lines;
  }
}

function incomplete({ id, last }: Claim): TrunklineError {
  const why = `NATS does not have all of its ${last} events`;
  const next = "Restore the stream of events from a backup, or delete the session";
  return new TrunklineError("unavailable", `Cannot open session '${id}': ${why}. ${next}.`);
}

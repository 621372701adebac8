import { atMost } from "../../base/abort.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { AppendResult } from "../../session/store.ts";
import type { AppendedPage } from "../../store/session/session-commits.ts";
import type { SessionLog } from "../../store/session/session-log.ts";
import type { EventPublisher } from "../ownership/event-publisher.ts";
import type { Claim } from "../ownership/ownership.ts";
import type { Bookmark } from "../ownership/session-entry.ts";

/** Characters of events of one session that may wait for NATS. */
export const MOST_WAITING = 8 * 1024 * 1024;

/** Milliseconds that closing a session waits for NATS. */
const PATIENCE = 5_000;

/** Events that are stored when they are in the local log and in NATS. */
class PendingAppend implements AppendResult {
  readonly page: AppendedPage;
  readonly #end = Promise.withResolvers<void>();
  readonly stored = this.#end.promise;
  readonly resolve = this.#end.resolve;
  characters = 0;
  #failure: Error | undefined;

  constructor(page: AppendedPage) {
    this.page = page;
    // Callers may check `failure` instead.
    this.stored.catch(() => {});
  }

  get last(): number {
    return this.page.last;
  }

  get failure(): Error | undefined {
    return this.#failure ?? this.page.failure;
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#end.reject(this.#failure);
  }
}

/** A session that was taken, with what publishes its events. */
interface TakenReplica {
  readonly claim: Claim;
  readonly publisher: EventPublisher;
  /** Number of the first event that the local log has. */
  readonly first: number;
}

/** A session that this worker holds: its events go to the local log, and from there to NATS. */
export class HeldReplica {
  readonly id: string;
  readonly key: number;
  claim: Claim;
  readonly #log: SessionLog;
  #publisher: EventPublisher;
  /** Number of the first event that the local log has. Earlier ones are only in NATS. */
  first: number;
  #pending: PendingAppend | undefined;
  readonly #unstored = new Set<PendingAppend>();
  #waiting = 0;
  /** Why nothing can be appended. */
  failure: Error | undefined;
  /** Reads and writes of the entry run one after the other. */
  readonly queue = new TaskQueue();
  /** Another process has taken the session. */
  isLost = false;
  /** Set while the session is being released. */
  leaving: Promise<void> | undefined;
  /** All its events are stored, so the release can no longer be taken back. */
  isLeft = false;

  constructor(log: SessionLog, key: number, { claim, publisher, first }: TakenReplica) {
    this.id = claim.id;
    this.key = key;
    this.claim = claim;
    this.#log = log;
    this.#publisher = publisher;
    this.first = first;
  }

  /** Number of the last event that is stored. */
  get last(): number {
    return this.#publisher.last;
  }

  /**
   * From where on whoever takes the session next has to read, if these are its notes: what recovers a turn
   * needs the events since the turn began.
   */
  bookmarkFor({ turnAfter }: Readonly<Record<string, unknown>>): Bookmark | undefined {
    const { bookmark, record } = this.claim.entry;
    const isSameTurn = turnAfter !== undefined && turnAfter === record.notes.turnAfter;
    return isSameTurn ? bookmark : (this.#publisher.bookmark ?? bookmark);
  }

  append(direction: "client" | "agent", text: string): AppendResult {
    const refusal = this.failure ?? (this.#waiting > MOST_WAITING ? full(this.id) : undefined);
    if (refusal !== undefined) return refused(this.last, refusal);
    // The whole message, never its text alone: a message of NATS may begin with any event.
    const page = this.#log.append(this.key, direction, text);
    if (page.failure !== undefined) return page;
    if (this.#pending?.page !== page) this.#pending = this.#await(new PendingAppend(page));
    this.#pending.characters += text.length;
    this.#waiting += text.length;
    return this.#pending;
  }

  /** Fails what is not stored, and refuses everything from now on. */
  fail(error: Error): void {
    this.failure ??= error;
    this.#pending = undefined;
    this.#publisher.stop(this.failure);
    for (const pending of this.#unstored) this.#settle(pending, this.failure);
  }

  /** Accepts events again, after the session was taken once more. */
  resume({ claim, publisher, first }: TakenReplica): void {
    this.claim = claim;
    this.#publisher = publisher;
    this.first = first;
    this.failure = undefined;
  }

  /** Resolves when everything is stored or has failed. */
  async drained(): Promise<void> {
    while (this.#unstored.size > 0) {
      await Promise.allSettled(Array.from(this.#unstored, ({ stored }) => stored));
    }
  }

  /** Resolves when it is released. Rejects if that takes long; it is released later then. */
  async left(): Promise<void> {
    await atMost(PATIENCE, this.leaving ?? Promise.resolve(), () => {
      const why = "NATS has not acknowledged its events yet";
      return new TrunklineError("unavailable", `Cannot release session '${this.id}': ${why}.`);
    });
  }

  #await(pending: PendingAppend): PendingAppend {
    this.#unstored.add(pending);
    const { page } = pending;
    const publisher = this.#publisher;
    page.stored
      .then(() => publisher.add(page))
      .then(
        () => this.#settle(pending),
        (error: Error) => this.#settle(pending, error),
      );
    return pending;
  }

  #settle(pending: PendingAppend, error?: Error): void {
    if (!this.#unstored.delete(pending)) return;
    this.#waiting -= pending.characters;
    if (error === undefined) pending.resolve();
    else pending.fail(error);
  }
}

function refused(last: number, failure: Error): AppendResult {
  const stored = Promise.reject(failure);
  stored.catch(() => {});
  return { last, stored, failure };
}

function full(id: string): TrunklineError {
  const why = "NATS has not acknowledged the last ones yet";
  const next = "Try again when NATS can be reached";
  const says = `Cannot store events of session '${id}': ${why}. ${next}.`;
  return new TrunklineError("unavailable", says);
}

export function notOpen(id: string): TrunklineError {
  return new TrunklineError("closed", `Session '${id}' is not open here.`);
}

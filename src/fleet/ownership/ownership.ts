import { TrunklineError } from "../../base/errors.ts";
import { HeldElsewhereError } from "../../store/session/session-log.ts";
import type { EventMessage, Journal } from "./journal.ts";
import {
  type Bookmark,
  type EntryRecord,
  isFinal,
  isLastAttempt,
  OutdatedError,
  type Records,
  retryUnanswered,
  sessionDeleted,
  type SessionEntry,
  sessionNotFound,
  type StoredEntry,
  unanswered,
} from "./session-entry.ts";

export interface OwnershipOptions {
  readonly records: Records;
  readonly journal: Journal;
  /** The id under which this process holds sessions. No other process ever has it. */
  readonly holder: string;
  /** The stable id of this node. */
  readonly node: string;
  /** Whether a holder seems alive. A wrong answer costs a session its connection, never its events. */
  readonly isAlive: (holder: string) => boolean;
  /** Waits before an attempt is repeated. */
  readonly pause: (attempt: number) => Promise<void>;
}

/** A session that this process has taken. */
export interface Claim {
  readonly id: string;
  readonly epoch: number;
  readonly entry: SessionEntry;
  readonly revision: number;
  /** Sequence of the last message when it was taken: all later ones are ours. */
  readonly sequence: number;
  /** Number of the last event when it was taken. */
  readonly last: number;
}

/** `undefined` removes a value. */
export interface EntryChange {
  readonly record?: EntryRecord;
  readonly bookmark?: Bookmark | undefined;
  readonly holder?: undefined;
  readonly deleted?: undefined;
}

/** Another process has taken a session that this one held. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/** Attempts that may lose against another writer. The holder that is replaced may be publishing all the time. */
const RACES = 200;

const NOTHING = new Uint8Array();

/**
 * Who holds a session. There is no lease and no clock: a process takes a session by writing its own name
 * and the next epoch into the session's entry, and then publishes a message of that epoch. Messages are
 * only accepted after the last one that their writer knows, so from then on every message of an earlier
 * holder is refused, whether that holder is dead, paused or cut off.
 */
export class Ownership {
  readonly #options: OwnershipOptions;
  #writes = 0;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  /**
   * Takes a new session. A deleted one of the same id begins anew. With `isHidden`, it looks deleted to
   * others until it is written without `deleted`.
   */
  async create(record: EntryRecord, isHidden = false): Promise<Claim> {
    const { id } = record;
    for (let race = 0; ; race++) {
      const before = await this.#get(id);
      if (before !== undefined && before.entry.deleted === undefined) {
        throw new TrunklineError("conflict", `Session '${id}' exists already.`);
      }
      const deleted = isHidden ? record.created : undefined;
      const claim = await this.#takeFrom(before, record, race, deleted);
      if (claim === undefined) continue;
      if (before !== undefined) await this.#options.journal.purge(id, claim.sequence);
      return claim;
    }
  }

  /** Takes a session that exists. Throws "not-found", "closed" or `HeldElsewhereError`. */
  async take(id: string): Promise<Claim> {
    const { isAlive, holder } = this.#options;
    for (let race = 0; ; race++) {
      const before = await this.#get(id);
      const { entry } = existing(id, before);
      if (entry.deleted !== undefined) throw sessionDeleted(id);
      const isFree = entry.holder === undefined || entry.holder === holder;
      if (!isFree && isAlive(entry.holder)) {
        throw new HeldElsewhereError(id, entry.holder, `node ${entry.node}`);
      }
      const claim = await this.#takeFrom(before, entry.record, race);
      if (claim !== undefined) return claim;
    }
  }

  /** Changes the record of a session that this process holds, or gives the session up. */
  async write(claim: Claim, change: EntryChange): Promise<Claim> {
    const { holder } = this.#options;
    let { entry: now, revision } = claim;
    for (let race = 0; ; race++) {
      // JSON leaves undefined values out.
      const entry = { ...now, ...change, write: this.#nextWrite() } as SessionEntry;
      const written = await this.#put(claim.id, entry, revision);
      if (written !== undefined) return { ...claim, entry, revision: written };
      const found = existing(claim.id, await this.#get(claim.id));
      // An earlier write of ours, whose answer was lost, may have arrived late.
      if (found.entry.epoch !== claim.epoch || found.entry.holder !== holder || race > RACES) {
        throw new FencedError(`Another process has taken session '${claim.id}'.`);
      }
      ({ entry: now, revision } = found);
    }
  }

  /** Deletes a session that no other process has open, with its events. */
  async delete(id: string): Promise<void> {
    const { isAlive, holder, journal } = this.#options;
    for (let race = 0; ; race++) {
      const before = await this.#get(id);
      const { entry } = existing(id, before);
      const isElsewhere = entry.holder !== undefined && entry.holder !== holder;
      if (isElsewhere && isAlive(entry.holder)) {
        throw new HeldElsewhereError(id, entry.holder, `node ${entry.node}`);
      }
      const { cwd, agent, created, updated } = entry.record;
      const record = { id, cwd, agent, created, updated, notes: {} };
      const claim = await this.#takeFrom(before, record, race, entry.deleted ?? Date.now());
      if (claim === undefined) continue;
      await this.write(claim, { holder: undefined });
      await journal.purge(id, claim.sequence);
      return;
    }
  }

  /** Undefined if another process was faster. */
  async #takeFrom(
    before: StoredEntry | undefined,
    record: EntryRecord,
    race: number,
    deleted?: number,
  ): Promise<Claim | undefined> {
    const { holder, node } = this.#options;
    const { id } = record;
    if (race > RACES) throw new TrunklineError("conflict", `Others keep taking session '${id}'.`);
    const epoch = (before?.entry.epoch ?? 0) + 1;
    const isNew = deleted !== undefined || before?.entry.deleted !== undefined;
    const { bookmark } = before?.entry ?? {};
    const entry = {
      record,
      epoch,
      born: before === undefined || isNew ? epoch : before.entry.born,
      holder,
      node,
      ...(deleted === undefined ? {} : { deleted }),
      ...(isNew || bookmark === undefined ? {} : { bookmark }),
      write: this.#nextWrite(),
    };
    const revision = await this.#put(id, entry, before?.revision ?? 0);
    if (revision === undefined) return undefined;
    const taken = { id, epoch, entry, revision };
    // Nobody else has ever written to a session that did not exist.
    if (before === undefined) return { ...taken, sequence: 0, last: 0 };
    const marked = await this.#mark(entry);
    return marked && { ...taken, ...marked };
  }

  /** Publishes the first message of an epoch. Undefined if a later epoch has begun. */
  async #mark(entry: SessionEntry): Promise<{ sequence: number; last: number } | undefined> {
    const { journal, node, pause } = this.#options;
    const { epoch, born } = entry;
    const { id } = entry.record;
    for (let race = 0, failures = 0; ; race++) {
      const before = await this.#retry(() => journal.last(id));
      if (before !== undefined && before.epoch > epoch) return undefined;
      if (before?.epoch === epoch) return { sequence: before.sequence, last: before.last };
      const isOfThisLife = before !== undefined && before.epoch >= born;
      const last = isOfThisLife ? before.last : 0;
      const message = markerOf(id, epoch, node, last);
      try {
        return { sequence: await journal.publish(id, message, before?.sequence ?? 0), last };
      } catch (error) {
        // The next round finds whether it was stored.
        if (error instanceof OutdatedError && race < RACES) continue;
        if (isFinal(error)) throw error;
        if (isLastAttempt(++failures, error)) throw unanswered(error);
        await pause(failures);
      }
    }
  }

  #get(id: string): Promise<StoredEntry | undefined> {
    return this.#retry(() => this.#options.records.get(id));
  }

  /** Writes an entry, even if an answer is lost. Undefined if the revision has changed. */
  async #put(id: string, entry: SessionEntry, revision: number): Promise<number | undefined> {
    const { records } = this.#options;
    return await this.#retry(async () => {
      try {
        return await records.put(id, entry, revision);
      } catch (error) {
        if (!(error instanceof OutdatedError)) throw error;
        const now = await records.get(id);
        return now?.entry.write === entry.write ? now.revision : undefined;
      }
    });
  }

  #retry<T>(work: () => Promise<T>): Promise<T> {
    return retryUnanswered(this.#options.pause, work);
  }

  #nextWrite(): string {
    return `${this.#options.holder}:${++this.#writes}`;
  }
}

/** The message with which an epoch begins. It has no events. */
function markerOf(id: string, epoch: number, node: string, last: number): EventMessage {
  const first = last + 1;
  return { id: `${id}:${epoch}:0`, epoch, node, first, last, body: NOTHING, more: false };
}

function existing(id: string, found: StoredEntry | undefined): StoredEntry {
  if (found !== undefined) return found;
  throw sessionNotFound(id);
}

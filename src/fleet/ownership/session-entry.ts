import { JetStreamApiError } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import { objectIn } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { NewSession, SessionRecord } from "../../session/store.ts";
import { type FleetConnection, isNobody } from "../connection/connect.ts";

/** The entry of one session in the bucket of sessions: its record, and who may write its events. */
export interface SessionEntry {
  readonly record: EntryRecord;
  /** Grows with each process that takes the session. Only messages of the last epoch are accepted. */
  readonly epoch: number;
  /** The epoch in which it was created. Earlier messages are those of a deleted session with this id. */
  readonly born: number;
  /** Id of the process that has the session open. */
  readonly holder?: string;
  /** The node of the process that took the session last. It stays when the session is released. */
  readonly node: string;
  /** When it was deleted. */
  readonly deleted?: number;
  /** From where on whoever takes the session reads its events. Absent in entries of earlier versions. */
  readonly bookmark?: Bookmark | undefined;
  /** Differs with each write, so that a process recognizes its own write whose answer was lost. */
  readonly write: string;
}

/** A message that has whole events, no parts of one. */
export interface Bookmark {
  readonly sequence: number;
  /** Number of its last event. */
  readonly last: number;
}

/** The record of a session, without what follows from the other fields of its entry. */
export type EntryRecord = Omit<SessionRecord, "isDeleted" | "isHeld" | "title" | "parent"> & {
  readonly title?: string | undefined;
  readonly parent?: string | undefined;
};

/** The record of a session that is created now. */
export function newRecord({ id, cwd, agent, title, parent, notes }: NewSession): EntryRecord {
  const now = Date.now();
  return { id, cwd, agent, title, created: now, updated: now, parent, notes };
}

/** The record as the contract of session stores has it. */
export function recordOf(entry: SessionEntry, isAlive: (holder: string) => boolean): SessionRecord {
  const { id, cwd, agent, title, created, updated, parent, notes } = entry.record;
  const isDeleted = entry.deleted !== undefined;
  const isHeld = liveHolder(entry, isAlive) !== undefined;
  return { id, cwd, agent, title, created, updated, parent, notes, isDeleted, isHeld };
}

/** The process that has the session open, if it seems alive. */
export function liveHolder(
  { holder, deleted }: Pick<SessionEntry, "holder" | "deleted">,
  isAlive: (holder: string) => boolean,
): string | undefined {
  return deleted === undefined && holder !== undefined && isAlive(holder) ? holder : undefined;
}

/** The entry of a session as NATS has it. Undefined for what is none: a node must not trust what others wrote. */
export function readEntry(id: string, text: string): SessionEntry | undefined {
  const entry: Partial<SessionEntry> = objectIn(text) ?? {};
  const { record, epoch, born, holder = "", node, deleted = 0, write, bookmark } = entry;
  const { sequence = 0, last = 0 } = bookmark ?? {};
  const { cwd, agent, title = "", created, updated, parent = "", notes } = record ?? {};
  const isEntry =
    isSessionId(id) &&
    record?.id === id &&
    [cwd, agent, title, parent, holder, node, write].every((each) => typeof each === "string") &&
    [epoch, born, created, updated, deleted].every((each) => Number.isFinite(each)) &&
    [sequence, last].every((each) => Number.isSafeInteger(each)) &&
    typeof notes === "object" &&
    notes !== null;
  return isEntry ? (entry as SessionEntry) : undefined;
}

const ID = /^[-\w]{1,200}(?:\.[-\w]{1,1000})?$/;

/** Whether a text can be the id of a session: others could name the subjects of several sessions. */
export function isSessionId(text: string): boolean {
  return ID.test(text);
}

export function sessionNotFound(id: string): TrunklineError {
  return new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
}

export function sessionDeleted(id: string): TrunklineError {
  return new TrunklineError("closed", `Session '${id}' was deleted.`);
}

export interface StoredEntry {
  readonly entry: SessionEntry;
  readonly revision: number;
}

/** The entries of sessions, by id. A write names the revision that it replaces. */
export interface Records {
  get(id: string): Promise<StoredEntry | undefined>;
  /**
   * Returns the new revision. `revision` 0 writes an entry that does not exist yet. Throws `OutdatedError` if
   * the entry has another revision, and `RefusedWriteError` if it cannot be written. After any other error it may
   * have been written, now or later.
   */
  put(id: string, entry: SessionEntry, revision: number): Promise<number>;
}

/** The entry or stream has changed meanwhile. Nothing was written. */
export class OutdatedError extends Error {
  override readonly name = "OutdatedError";
}

/** The server has refused a write, for another reason than who holds the session. */
export class RefusedWriteError extends Error {
  override readonly name = "RefusedWriteError";
}

/** Whether another attempt would end in the same way. */
export function isFinal(error: unknown): boolean {
  if (error instanceof TrunklineError) return error.code !== "unavailable";
  return error instanceof OutdatedError || error instanceof RefusedWriteError;
}

/** The error for the caller: a refusal of NATS with its reason, or the error itself. */
export function told(error: unknown): unknown {
  if (!(error instanceof RefusedWriteError)) return error;
  return new TrunklineError("unavailable", error.message, { cause: error });
}

/** The entries of sessions in a key-value bucket of NATS. */
export function kvRecords(
  kv: KV,
  connection: Pick<FleetConnection, "ask">,
  mostBytes: number,
): Records {
  return {
    async get(id: string): Promise<StoredEntry | undefined> {
      if (!isSessionId(id)) return undefined;
      const found = await connection.ask(() => kv.get(id));
      if (found === null || found.operation !== "PUT") return undefined;
      const entry = readEntry(id, found.string());
      if (entry !== undefined) return { entry, revision: found.revision };
      const next = "Restore it from a backup, or remove it from the bucket";
      throw new RefusedWriteError(`The entry of session '${id}' in NATS cannot be read. ${next}.`);
    },

    async put(id: string, entry: SessionEntry, revision: number): Promise<number> {
      if (!isSessionId(id))
        throw new RefusedWriteError(`'${id.slice(0, 64)}' cannot be the id of a session.`);
      const value = Buffer.from(JSON.stringify(entry));
      if (value.length > mostBytes) {
        const size = `it has ${value.length} bytes, and NATS takes ${mostBytes}`;
        const next = "Raise `max_payload` of the NATS server";
        throw new RefusedWriteError(
          `The record of session '${id}' is too large: ${size}. ${next}.`,
        );
      }
      const put = connection.ask(() => kv.put(id, value, { previousSeq: revision }));
      return await put.catch((error: unknown) => {
        throw toProtocolError(error);
      });
    },
  };
}

/** "wrong last sequence", in both forms. */
const WRONG_SEQUENCE: ReadonlySet<number> = new Set([10071, 10164]);

/** Answers of a server that starts or elects a leader: no peers, not available, not leader, not enabled. */
const PASSING: ReadonlySet<number> = new Set([10005, 10008, 10009, 10039, 10076]);

/** Translates an error of a write to JetStream into what it means for the hold on a session. */
export function toProtocolError(error: unknown): unknown {
  if (!(error instanceof JetStreamApiError) || PASSING.has(error.code)) return error;
  if (WRONG_SEQUENCE.has(error.code)) return new OutdatedError(error.message, { cause: error });
  return new RefusedWriteError(`NATS refused it: ${error.message}.`, { cause: error });
}

/** Attempts whose answer is lost, until the caller is told. */
export const ATTEMPTS = 6;
/** Attempts while servers of NATS elect a leader, or this node goes over to those that have one: some 16 s. */
export const ELECTION_ATTEMPTS = 9;

/** Whether the caller is told of an error now. */
export function isLastAttempt(attempt: number, error: unknown): boolean {
  return attempt >= (isElection(error) ? ELECTION_ATTEMPTS : ATTEMPTS);
}

/** Whether nobody took the question, as while servers have no leader. */
function isElection(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return PASSING.has(error.code);
  return error instanceof Error && isNobody(error.cause);
}

/** Repeats what NATS has not answered. `pause` waits before an attempt is repeated. */
export async function retryUnanswered<T>(
  pause: (attempt: number) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (isFinal(error)) throw error;
      if (isLastAttempt(attempt, error)) throw unanswered(error);
      await pause(attempt);
    }
  }
}

export function unanswered(error: unknown): TrunklineError {
  if (error instanceof TrunklineError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new TrunklineError("unavailable", `NATS does not answer: ${why}.`, { cause: error });
}

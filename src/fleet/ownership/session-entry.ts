import type { NewSession, SessionRecord } from "../../session/store.ts";

/** What the bucket of sessions has of one session: its record, and who may write its events. */
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
  let entry: Partial<SessionEntry>;
  try {
    entry = (JSON.parse(text) ?? {}) as typeof entry;
  } catch {
    return undefined;
  }
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

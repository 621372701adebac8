import type { Amounts } from "../base/limit/budget.ts";
import type { StoredEvent } from "./event.ts";

export type { StoredEvent };

/** The events of one session that are committed together. */
export interface AppendResult {
  /** Number of the last appended event. */
  readonly last: number;
  /** Resolves when all of them are on disk. */
  readonly stored: Promise<void>;
  /** Why they could not be stored. It is set before `stored` rejects. */
  readonly failure: Error | undefined;
}

/** Stores sessions and their events. */
export interface SessionStore {
  create(session: NewSession): Promise<HeldSession>;
  fork(from: string, session: NewSession, upTo?: number): Promise<HeldSession>;
  /**
   * Throws "not-found", "closed" (it was deleted) or "conflict" (another process has it open, whose id
   * is the error's `holder`).
   */
  hold(id: string): Promise<HeldSession>;
  release(key: number): Promise<void>;
  /** Throws "closed" if the session is on another machine now. */
  refuseMoved?(id: string): Promise<void>;
  /**
   * Takes a session from another process of this machine that is alive but does not answer: rejects its later
   * writes, ends what it has started for the session, and releases the session.
   */
  depose?(id: string, holder: string): Promise<void>;
  /**
   * Checks whether another process has taken a session that is held here, where that can happen unnoticed.
   * The session's owner in this process is told before this resolves. `isBehind`: a client has seen more
   * events than there are here, so it has seen them elsewhere; then this rejects if it cannot find out.
   */
  confirm?(id: string, isBehind: boolean): Promise<void>;
  /**
   * Appends an event, whose message is JSON. `text` is JSON of its `update.content.text`, if it differs from
   * the event appended before in nothing else: then a store may keep that alone. When its commit fails, all
   * events appended to the session since fail too, and the next event gets the number after the last one on
   * disk.
   */
  append(key: number, direction: "client" | "agent", message: string, text?: string): AppendResult;
  describe(
    key: number,
    change: { readonly title?: string; readonly notes?: object; readonly updated?: number },
  ): Promise<void>;
  find(id: string): Promise<SessionRecord | undefined>;
  /** Sessions by last use, newest first. `owner` is the one in the notes; "" finds those without one. */
  list(options?: {
    cwd?: string | undefined;
    owner?: string | undefined;
    after?: ListedSession | undefined;
    limit?: number;
  }): Promise<SessionRecord[]>;
  /** Ids of a principal's sessions that some process has open. */
  openOf(owner: string): Promise<string[]>;
  /** Events after one, oldest first, in batches: a session may have hundreds of thousands. */
  read(id: string, after?: number): AsyncIterable<readonly StoredEvent[]>;
  delete(id: string): Promise<void>;
}

/** The last session of a page, after which the next page begins. */
export type ListedSession = Pick<SessionRecord, "id" | "updated">;

export interface NewSession extends Pick<SessionRecord, "id" | "cwd" | "agent" | "notes"> {
  readonly title?: string;
  readonly parent?: string;
}

/** What is stored of a session beside its events. */
export interface SessionFields {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title: string | undefined;
  readonly created: number;
  readonly updated: number;
  /** Id of the session that it was forked from. */
  readonly parent: string | undefined;
  /** Further data of its owner, as JSON. */
  readonly notes: Readonly<Record<string, unknown>>;
}

/** The stored record of a session, without its events. */
export interface SessionRecord extends SessionFields {
  readonly isDeleted: boolean;
  /** A process, perhaps this one, has the session open. */
  readonly isHeld: boolean;
}

/** A session that this process has open and may append to. */
export interface HeldSession {
  readonly key: number;
  readonly record: SessionRecord;
  /** Number of its last event. */
  readonly last: number;
}

/** What one turn has used. */
export interface TurnUsage extends Amounts {
  readonly turn: string;
  readonly session: string;
  /** Id of the principal that prompted; empty for the owner. */
  readonly principal: string;
  /** The day on which the turn began, in UTC: `2026-11-15`. */
  readonly day: string;
  /** The cost of the whole session that the agent last reported. */
  readonly reportedCost: number | undefined;
}

/** An "always" answer of a person to a permission request, for one subject in one folder. */
export interface PermissionRule {
  readonly id: number;
  readonly workspace: string;
  /** The key of the subject: JSON with its parts in the order of their names. */
  readonly subject: string;
  readonly decision: "allow" | "reject";
  readonly created: number;
  /** Id of the session in which it was given. */
  readonly session: string;
  readonly by: string;
  /** Id of the principal that answered, to whom alone the rule applies; empty for the owner. */
  readonly principal: string;
}

/** Stores the answers that people gave with "always". */
export interface RuleStore {
  /** `subject` is the key of a subject. */
  find(workspace: string, subject: string, principal: string): Promise<PermissionRule | undefined>;
  add(rule: Omit<PermissionRule, "id" | "created">): Promise<void>;
}

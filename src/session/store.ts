import type { StoredEvent } from "./event.ts";

/** What one session has appended that goes into one commit. */
export interface Appended {
  /** The number of the event that was appended last. */
  readonly last: number;
  /** Resolves when all of it is on disk. */
  readonly stored: Promise<void>;
  /** Why it could not be brought there. It is known before `stored` rejects. */
  readonly failure: Error | undefined;
}

/** Where sessions are kept. */
export interface SessionStore {
  create(session: NewSession): Promise<HeldSession>;
  fork(from: string, session: NewSession, upTo?: number): Promise<HeldSession>;
  /** Throws "not-found", "closed" (it was deleted) or "conflict" (another process has it open). */
  hold(id: string): Promise<HeldSession>;
  release(key: number): Promise<void>;
  /**
   * Adds the next event. When that fails, all that was appended to the session since fails too, and
   * the next event follows the last one on disk.
   */
  append(key: number, direction: "client" | "agent", text: string): Appended;
  describe(
    key: number,
    change: { readonly title?: string; readonly notes?: object; readonly updated?: number },
  ): Promise<void>;
  find(id: string): Promise<SessionRecord | undefined>;
  /** The last used first. `owner` is that of the notes; those without one are nobody's, "". */
  list(options?: {
    cwd?: string;
    owner?: string;
    after?: ListedSession;
    limit?: number;
  }): Promise<SessionRecord[]>;
  read(id: string, after?: number): AsyncIterable<StoredEvent>;
  delete(id: string): Promise<void>;
}

/** Where a list goes on: after a session, as it stood there. */
export type ListedSession = Pick<SessionRecord, "id" | "updated">;

export interface NewSession {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title?: string;
  readonly parent?: string;
  readonly notes: Readonly<Record<string, unknown>>;
}

export interface SessionRecord {
  readonly id: string;
  readonly cwd: string;
  readonly agent: string;
  readonly title: string | undefined;
  readonly created: number;
  readonly updated: number;
  readonly parent: string | undefined;
  readonly notes: Readonly<Record<string, unknown>>;
  readonly isDeleted: boolean;
  readonly isHeld: boolean;
}

export interface HeldSession {
  readonly key: number;
  readonly record: SessionRecord;
  readonly last: number;
}

/** What people have said once and for all. */
export interface RuleStore {
  find(
    workspace: string,
    subject: string,
    principal: string,
  ): Promise<{ readonly id: number; readonly decision: "allow" | "reject" } | undefined>;
  add(rule: {
    readonly workspace: string;
    readonly subject: string;
    readonly decision: "allow" | "reject";
    readonly session: string;
    readonly by: string;
    /** The id of who said it: it holds for that principal alone. */
    readonly principal: string;
  }): Promise<void>;
}

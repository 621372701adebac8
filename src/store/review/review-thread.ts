/** How important a comment is to the person. */
export type Severity = "must" | "should" | "nit" | "question";

export const SEVERITIES: readonly Severity[] = ["must", "should", "nit", "question"];

/** State of a thread. An agent claims, answers or proposes; only a person resolves. */
export type ThreadState = "open" | "claimed" | "answered" | "proposed" | "resolved" | "reopened";

export const STATES: readonly ThreadState[] = [
  "open",
  "claimed",
  "answered",
  "proposed",
  "resolved",
  "reopened",
];

export type Role = "person" | "agent";

/** Side of the diff; deleted lines are only on the old side. */
export type Side = "old" | "new";

/** Where a comment is, with the context to find it again after the file has changed. */
export interface Anchor {
  /** Path from the root of the repository, with `/`. */
  readonly path: string;
  readonly side: Side;
  /** The first line, from 1; undefined for the file as a whole. */
  readonly line?: number;
  /** The last line; the same as the first for a single one. */
  readonly end?: number;
  /** Git's blob id of the file's text at that moment. */
  readonly blob?: string;
  /** The commit that was checked out, or that of the old side. */
  readonly commit?: string;
  readonly quote?: readonly string[];
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

/** Lines that are to replace the commented ones. */
export interface Suggestion {
  readonly lines: readonly string[];
}

/** What an agent says it has changed for a thread. */
export interface Proposal {
  readonly text?: string;
  readonly commit?: string;
  readonly diff?: string;
}

export type EventKind =
  | "opened"
  | "claimed"
  | "returned"
  | "replied"
  | "proposed"
  | "resolved"
  | "reopened";

/** One event of a thread. Events are never changed. */
export interface ThreadEvent {
  /** Number in the order of all events of all threads. */
  readonly seq: number;
  readonly kind: EventKind;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly by: string;
  readonly role: Role;
  readonly text?: string;
  readonly proposal?: Proposal;
}

/** A thread, computed from its events. */
export interface Thread {
  readonly id: string;
  readonly repository: Repository;
  readonly anchor: Anchor;
  readonly severity: Severity;
  readonly comment: string;
  readonly suggestion?: Suggestion;
  readonly state: ThreadState;
  readonly by: string;
  /** Where it came from: the command line, a drop file, another tool. */
  readonly source: string;
  readonly at: number;
  readonly updated: number;
  readonly claim?: Claim;
}

export interface Claim {
  readonly agent: string;
  readonly until: number;
}

/** A repository, the same for all its worktrees. */
export interface Repository {
  /** The real path of the git folder that all its worktrees share. */
  readonly gitDir: string;
  /** The worktree that was last used. */
  readonly root: string;
  /** Addresses of its remotes, without names and passwords in them. */
  readonly remotes?: readonly string[];
}

/** A repository as it is stored. */
export interface KnownRepository extends Required<Repository> {
  /** Its first commit; undefined until somebody looked. */
  readonly firstCommit: string | undefined;
}

/** A message of a person for a reader. */
export interface Message {
  readonly seq: number;
  readonly thread: string;
  readonly repository: Repository;
  readonly anchor: Anchor;
  readonly severity: Severity;
  readonly suggestion?: Suggestion;
  readonly text: string;
  readonly by: string;
  readonly at: number;
}

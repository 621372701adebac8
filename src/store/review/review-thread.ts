import type { Anchor, Suggestion, ThreadDocument, WrittenEvent } from "../schema.gen.ts";

export const SEVERITIES = ["must", "should", "nit", "question"] as const;
/** How important a comment is to the person. */
export type Severity = (typeof SEVERITIES)[number];

export const STATES = ["open", "claimed", "answered", "proposed", "resolved", "reopened"] as const;
/** State of a thread. An agent claims, answers or proposes; only a person resolves. */
export type ThreadState = (typeof STATES)[number];

export type Role = "person" | "agent";

/** Side of the diff; deleted lines are only on the old side. */
export type Side = "old" | "new";

export const EVENT_KINDS = [
  "opened",
  "claimed",
  "returned",
  "replied",
  "proposed",
  "resolved",
  "reopened",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** One event of a thread. Events are never changed. */
export interface ThreadEvent extends Omit<WrittenEvent, "comments"> {
  /** Number in the order of all events of all threads. */
  readonly seq: number;
}

/** A thread, computed from its events. */
export interface Thread extends Pick<
  ThreadDocument,
  "id" | "anchor" | "severity" | "comment" | "suggestion" | "state" | "by" | "source" | "at"
> {
  readonly repository: Repository;
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

/** A repository as it is stored. Its first commit is left out until somebody looked. */
export type KnownRepository = ThreadDocument["repository"];

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

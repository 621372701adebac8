import { TrunklineError } from "../base/errors.ts";
import type { HeldSession, SessionStore } from "./store.ts";

/** How a client wants the work tree of a new session. */
export interface WorktreeRequest {
  /** The branch to work on; a new one if left out. */
  readonly branch?: string | undefined;
  /** What the branch begins with; the current commit if left out. */
  readonly base?: string | undefined;
  /** Patterns, as in .gitignore, of ignored files to copy, in addition to the configured ones. */
  readonly carry?: readonly string[] | undefined;
}

/** A work tree that belongs to one session, as it is stored with that session. */
export interface Workplace {
  /** The folder in which the agent works: the top of the work tree, or a folder in it. */
  readonly folder: string;
  /** The top of the work tree. */
  readonly tree: string;
  /** The folder of the repository that it was made from. */
  readonly repository: string;
  readonly branch: string;
  /** The branch was created for the session. */
  readonly isOwnBranch: boolean;
  readonly base: {
    readonly revision: string;
    /** The branch that the session started from; undefined where there was none. */
    readonly branch?: string | undefined;
  };
  /** What is missing in it, in words for a person. */
  readonly warnings: readonly string[];
}

/** In the notes of a session that has moved here: its agent works in a sandbox, like those of remote runs. */
export interface Visitor {
  /** The id of the session. */
  readonly visitor: string;
  readonly tree: string;
}

export function isVisitor(value: unknown): value is Visitor {
  return typeof (value as Partial<Visitor> | undefined)?.visitor === "string";
}

/** Gives sessions work trees of their own. */
export interface Workplaces {
  create(session: string, cwd: string, request: WorktreeRequest): Promise<Workplace>;
  /** Makes the folder of a session available again if somebody has removed it. */
  open(session: string, place: Workplace): Promise<void>;
}

/** The work tree in the notes of a session; undefined if it has none. */
export function workplaceOf(notes: Readonly<Record<string, unknown>>): Workplace | undefined {
  const { worktree } = notes;
  return typeof worktree === "object" && worktree !== null ? (worktree as Workplace) : undefined;
}

/** The folder in which the agent of a session works. */
export function workingFolder(session: {
  readonly cwd: string;
  readonly notes: Readonly<Record<string, unknown>>;
}): string {
  return workplaceOf(session.notes)?.folder ?? session.cwd;
}

/**
 * Creates the work tree of a new session that asks for one. The session is stored before it, so that no
 * work tree is without a session.
 */
export async function giveWorkplace(
  { workplaces, store }: { readonly workplaces?: Workplaces; readonly store: SessionStore },
  held: HeldSession,
  setup: { readonly cwd: string; readonly worktree?: WorktreeRequest | undefined },
): Promise<HeldSession> {
  if (setup.worktree === undefined) return held;
  if (workplaces === undefined) throw new TrunklineError("usage", "There are no work trees here.");
  const { id, notes } = held.record;
  const worktree = await workplaces.create(id, setup.cwd, setup.worktree);
  const described = { ...notes, worktree };
  await store.describe(held.key, { notes: described });
  return { ...held, record: { ...held.record, notes: described } };
}

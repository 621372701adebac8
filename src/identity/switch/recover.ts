import {
  bytesOf,
  discard,
  type FileChange,
  isSame,
  prepare,
  replace,
} from "../../base/file/file-change.ts";
import type { Journal, JournalState, Outcome } from "./journal.ts";

/** The result of repairing an interrupted change. */
export interface Recovery {
  readonly id: string;
  readonly identity: string | undefined;
  readonly outcome: Exclude<Outcome, "done">;
  /** Files that were changed since and therefore not restored. */
  readonly left: readonly string[];
  /** In words. */
  readonly says: string;
}

/** Repairs an interrupted change, if there is one. Cheap if there is none. */
export async function recoverIfNeeded(journal: Journal): Promise<Recovery | undefined> {
  if (!(await journal.hasPending())) return undefined;
  using _lock = await journal.lock();
  return await recover(journal);
}

/**
 * Ends an interrupted change: marks it as finished if all files have been changed, else rolls it
 * back. The caller holds the lock, so no other change is running.
 */
export async function recover(journal: Journal): Promise<Recovery | undefined> {
  if (!(await journal.hasPending())) return undefined;
  const pending = (await journal.entries()).at(-1);
  if (pending === undefined || pending.outcome !== undefined) return undefined;
  const { id, files } = pending;
  for (const change of files) await discard(change, id);
  const states = await Promise.all(files.map(stateOf));
  const isComplete = states.every((state) => state === "after");
  const outcome = isComplete ? "finished" : "rolled-back";
  if (!isComplete) {
    for (const [at, change] of files.entries()) {
      if (states[at] !== "after") continue;
      const back = { ...change, before: change.after, after: change.before };
      await prepare(back, id);
      await replace(back, id);
    }
  }
  await journal.end(id, outcome);
  const left = files.filter((_, at) => states[at] === "other").map(({ path }) => path);
  return {
    id,
    identity: pending.identity,
    outcome,
    left,
    says: explain(pending, outcome, left),
  };
}

async function stateOf({ path, before, after }: FileChange): Promise<"before" | "after" | "other"> {
  const now = await bytesOf(path);
  if (isSame(now, after)) return "after";
  return isSame(now, before) ? "before" : "other";
}

function explain(pending: JournalState, outcome: string, left: readonly string[]): string {
  const { kind, identity, subject } = pending;
  const to = identity === undefined ? "" : ` to identity '${identity}'`;
  const where = subject.worktree ?? subject.repository ?? "your own configuration";
  const what = kind === "switch" ? `A switch${to}` : kind === "undo" ? "An undo" : "A sync";
  const end = outcome === "finished" ? "it had been completed" : "it has been rolled back";
  const more =
    left.length === 0 ? "" : ` Not restored, because they were changed since: ${left.join(", ")}.`;
  return `${what} in ${where} was interrupted; ${end}.${more}`;
}

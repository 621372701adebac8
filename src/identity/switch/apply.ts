import { readConfigBytes } from "../../git/config/edit-config.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Git } from "../../git/git.ts";
import {
  bytesOf,
  discard,
  type FileChange,
  isSame,
  prepare,
  replace,
} from "../../base/file/file-change.ts";
import type { Journal, JournalEntry, JournalState, Outcome } from "./journal.ts";

/** All changes that a command is about to make. Nothing has been changed yet. */
export interface ChangePlan extends Pick<JournalEntry, "kind" | "subject" | "settings" | "files"> {
  readonly identity?: string;
  /** Information for the person before the change. */
  readonly notes: readonly string[];
  /** For an undo: the id of the change that it undoes. */
  readonly undoes?: string;
}

export interface AppliedChange {
  /** The id for undoing it; undefined if there was nothing to change. */
  readonly id: string | undefined;
  readonly plan: ChangePlan;
  /** An interrupted change that was repaired first. */
  readonly recovered: Recovery | undefined;
}

/**
 * Makes a plan and applies it, under the journal's lock: writes the journal, prepares the new files
 * beside the old ones, has git check them, and replaces one file after the other. A failure
 * restores what was replaced.
 */
export async function applyPlan(
  journal: Journal,
  git: Git,
  makePlan: () => Promise<ChangePlan>,
): Promise<AppliedChange> {
  using _lock = await journal.lock();
  const recovered = await recover(journal);
  const plan = await makePlan();
  if (plan.files.length === 0) return { id: undefined, plan, recovered };
  const id = crypto.randomUUID();
  const { kind, identity, subject, settings, files, undoes } = plan;
  const checked = Promise.allSettled(files.map((change) => checkChange(git, change, plan)));
  const at = new Date().toISOString();
  await journal.begin({ id, at, kind, identity, subject, settings, files, undoes });
  const replaced: FileChange[] = [];
  try {
    allOf(await Promise.allSettled(files.map((change) => prepare(change, id))));
    allOf(await checked);
    for (const change of files) {
      await replace(change, id);
      replaced.push(change);
    }
  } catch (error) {
    for (const change of files) await discard(change, id);
    await putBack(journal, id, replaced);
    throw error;
  }
  await journal.end(id, "done");
  return { id, plan, recovered };
}

/** An undo restores the old content without a check, whatever it is. */
async function checkChange(git: Git, change: FileChange, plan: ChangePlan): Promise<void> {
  const { after, isGitConfig, path } = change;
  if (!isGitConfig || after === undefined || plan.kind === "undo") return;
  try {
    await readConfigBytes(git, after);
  } catch (error) {
    const says = `Cannot change '${path}': git could not read the new file, so it was not written`;
    throw new TrunklineError("config", says, { cause: error });
  }
}

/** All of them have settled, so nothing is still running when the files are restored. */
function allOf(results: readonly PromiseSettledResult<void>[]): void {
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function putBack(
  journal: Journal,
  id: string,
  replaced: readonly FileChange[],
): Promise<void> {
  for (const change of replaced.toReversed()) {
    const back = { ...change, before: change.after, after: change.before };
    await prepare(back, id);
    await replace(back, id);
  }
  await journal.end(id, "rolled-back");
}

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
async function recover(journal: Journal): Promise<Recovery | undefined> {
  if (!(await journal.hasPending())) return undefined;
  const pending = (await journal.entries()).at(-1);
  if (pending === undefined || pending.outcome !== undefined) return undefined;
  const { id, files } = pending;
  for (const change of files) await discard(change, id);
  const states = await Promise.all(files.map(stateOf));
  const isComplete = states.every((state) => state === "after");
  const outcome = isComplete ? "finished" : "rolled-back";
  if (isComplete) await journal.end(id, outcome);
  else
    await putBack(
      journal,
      id,
      files.filter((_, at) => states[at] === "after"),
    );
  const left = files.filter((_, at) => states[at] === "other").map(({ path }) => path);
  return { id, identity: pending.identity, outcome, left, says: explain(pending, outcome, left) };
}

async function stateOf({ path, before, after }: FileChange): Promise<"before" | "after" | "other"> {
  const now = bytesOf(path);
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

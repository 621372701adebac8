import { checkEdited } from "../../git/config/edit-config.ts";
import type { Git } from "../../git/git.ts";
import { discard, type FileChange, prepare, replace } from "../../base/file/file-change.ts";
import type { ChangeKind, Journal, SettingChange, Subject } from "./journal.ts";
import { recover, type Recovery } from "./recover.ts";

/** All changes that a command is about to make. Nothing has been changed yet. */
export interface Plan {
  readonly kind: ChangeKind;
  readonly identity?: string;
  readonly subject: Subject;
  readonly settings: readonly SettingChange[];
  readonly files: readonly FileChange[];
  /** Information for the person before the change. */
  readonly notes: readonly string[];
  /** For an undo: the id of the change that it undoes. */
  readonly undoes?: string;
}

export interface Applied {
  /** The id for undoing it; undefined if there was nothing to change. */
  readonly id: string | undefined;
  readonly plan: Plan;
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
  makePlan: () => Promise<Plan>,
): Promise<Applied> {
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
    await putBack(journal, id, plan.files, replaced);
    throw error;
  }
  await journal.end(id, "done");
  return { id, plan, recovered };
}

/** An undo restores the old content without a check, whatever it is. */
async function checkChange(git: Git, change: FileChange, plan: Plan): Promise<void> {
  const { after, isGitConfig, path } = change;
  if (!isGitConfig || after === undefined || plan.kind === "undo") return;
  await checkEdited(git, path, after);
}

/** All of them have settled, so nothing is still running when the files are restored. */
function allOf(results: readonly PromiseSettledResult<void>[]): void {
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function putBack(
  journal: Journal,
  id: string,
  files: readonly FileChange[],
  replaced: readonly FileChange[],
): Promise<void> {
  for (const change of files) await discard(change, id);
  for (const change of replaced.toReversed()) {
    const back = { ...change, before: change.after, after: change.before };
    await prepare(back, id);
    await replace(back, id);
  }
  await journal.end(id, "rolled-back");
}

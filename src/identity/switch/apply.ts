import { checkEdited } from "../../git/config/edit-config.ts";
import type { Git } from "../../git/git.ts";
import { discard, type FileChange, prepare, replace } from "./file-change.ts";
import type { ChangeKind, Journal, SettingChange, Subject } from "./journal.ts";
import { recover, type Recovery } from "./recover.ts";

/** Everything that a command is about to change, and nothing has been yet. */
export interface Plan {
  readonly kind: ChangeKind;
  readonly identity?: string;
  readonly subject: Subject;
  readonly settings: readonly SettingChange[];
  readonly files: readonly FileChange[];
  /** What a person should know before. */
  readonly notes: readonly string[];
  /** Of an undo: what is undone. */
  readonly undoes?: string;
}

export interface Applied {
  /** By which it can be undone; nothing where there was nothing to change. */
  readonly id: string | undefined;
  readonly plan: Plan;
  /** What was broken off before, and repaired first. */
  readonly recovered: Recovery | undefined;
}

/**
 * Makes a plan and carries it out, while nobody else does: first written down, then prepared beside
 * the files and read by git, then put in their place one by one. What fails on the way is put back.
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

/** What was there before needs no check: it is to be put back whatever it is. */
async function checkChange(git: Git, change: FileChange, plan: Plan): Promise<void> {
  const { after, isGitConfig, path } = change;
  if (!isGitConfig || after === undefined || plan.kind === "undo") return;
  await checkEdited(git, path, after);
}

/** Nothing may still be going on when what was done is put back. */
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

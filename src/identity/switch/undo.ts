import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { bytesOf, type FileChange, isSame } from "./file-change.ts";
import type { Journal, JournalState } from "./journal.ts";
import type { Plan } from "./apply.ts";

export interface UndoOptions {
  /** The work tree whose last change is undone; by default the user's own configuration. */
  readonly worktree?: string;
  /** One change, by its id. */
  readonly id?: string;
  /** Undoes even if files have been changed since; those later changes are lost. */
  readonly force?: boolean;
}

/** Plans an undo, which restores the files byte for byte. Changes nothing. */
export async function planUndo(journal: Journal, options: UndoOptions = {}): Promise<Plan> {
  const entry = await findEntry(journal, options);
  const notes: string[] = [];
  const kept = keptFile(entry, options, notes);
  const files: FileChange[] = [];
  const changed: string[] = [];
  for (const change of entry.files) {
    if (change.path === kept) continue;
    const now = await bytesOf(change.path);
    if (isSame(now, change.before)) continue;
    if (!existsSync(dirname(change.path))) {
      notes.push(`'${change.path}' was not restored: its folder does not exist.`);
      continue;
    }
    if (!isSame(now, change.after)) changed.push(change.path);
    files.push({ ...change, before: now, after: change.before });
  }
  if (changed.length > 0 && options.force !== true) {
    const paths = changed.map((path) => `'${path}'`).join(", ");
    const next = "Undoing would lose those changes; use --force to undo anyway";
    throw new TrunklineError("unavailable", `Cannot undo: ${paths} has changed since. ${next}`);
  }
  return {
    kind: "undo",
    subject: entry.subject,
    undoes: entry.id,
    ...(entry.identity === undefined ? {} : { identity: entry.identity }),
    settings: entry.settings
      .filter(({ file }) => files.some(({ path }) => path === file))
      .map((each) => ({ ...each, before: each.after, after: each.before })),
    files,
    notes,
  };
}

async function findEntry(journal: Journal, { worktree, id }: UndoOptions): Promise<JournalState> {
  const entries = (await journal.entries()).filter(({ kind, outcome, isUndone }) => {
    return kind !== "undo" && (outcome === "done" || outcome === "finished") && !isUndone;
  });
  const found = entries.findLast((entry) => {
    return id === undefined ? entry.subject.worktree === worktree : entry.id === id;
  });
  if (found !== undefined) return found;
  const what =
    id !== undefined
      ? `there is no change '${id}' that can be undone`
      : worktree === undefined
        ? "your own configuration has not been changed by Trunkline"
        : `nothing has been switched in '${worktree}'`;
  throw new TrunklineError("not-found", `Cannot undo: ${what}`);
}

/**
 * A switch may have turned on extensions.worktreeConfig. If other work trees use it now, it stays
 * on: they would lose their identities.
 */
function keptFile(entry: JournalState, options: UndoOptions, notes: string[]): string | undefined {
  const { repository } = entry.subject;
  if (repository === undefined) return undefined;
  const turnedOn = entry.settings.find(({ key, file }) => {
    return key === "extensions.worktreeConfig" && file === join(repository, "config");
  });
  if (turnedOn === undefined) return undefined;
  const own = new Set(entry.files.map(({ path }) => path));
  const others = worktreeConfigs(repository).filter((path) => !own.has(path));
  if (others.length === 0) return undefined;
  const isAlone = entry.settings.every(({ key, file }) => {
    return file !== turnedOn.file || key === turnedOn.key;
  });
  if (isAlone) {
    notes.push("extensions.worktreeConfig stays on: other work trees use it.");
    return turnedOn.file;
  }
  if (options.force === true) return undefined;
  const says = `other work trees use it now: ${others.join(", ")}. Undo their switches first`;
  throw new TrunklineError(
    "unavailable",
    `Cannot undo what was changed in ${turnedOn.file}: ${says}`,
  );
}

function worktreeConfigs(commonDir: string): string[] {
  const folder = join(commonDir, "worktrees");
  const linked = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return [commonDir, ...linked].map((each) => join(each, "config.worktree")).filter(existsSync);
}

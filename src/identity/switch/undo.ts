import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import {
  ConfigText,
  restoreKeys,
  type RestoreOptions,
  valuesIn,
} from "../../git/config/edit-config.ts";
import { canonicalKey } from "../../git/config/git-config.ts";
import type { Plan } from "./apply.ts";
import { bytesOf, type FileChange, isSame } from "../../base/file/file-change.ts";
import type { Journal, JournalState, SettingChange } from "./journal.ts";
import { blockLines, MANAGED_BLOCK, withBlock, withoutBlock } from "./managed-blocks.ts";

export interface UndoOptions {
  /** The work tree whose last change is undone; by default the user's own configuration. */
  readonly worktree?: string;
  /** One change, by its id. */
  readonly id?: string;
  /** Restores also settings that somebody has changed since; those later changes are lost. */
  readonly force?: boolean;
}

/** Plans an undo, which keeps whatever git or a person has written since. Changes nothing. */
export async function planUndo(journal: Journal, options: UndoOptions = {}): Promise<Plan> {
  const entries = await journal.entries();
  const { force = false } = options;
  const entry = findEntry(entries, options);
  const later = force ? [] : laterSwitches(entries, entry);
  const now = await Promise.all(entry.files.map(({ path }) => bytesOf(path)));
  const undo = (except?: ReadonlySet<string>): Undone[] => {
    return entry.files.map((change, at) =>
      undoFile(change, now[at], { force, ...(except && { except }) }),
    );
  };
  const notes: string[] = [];
  let undone = undo();
  if (mustStayOn(entry, undone)) {
    undone = undo(WORKTREE_KEYS);
    notes.push("extensions.worktreeConfig stays on: other work trees use it.");
  }
  const files: FileChange[] = [];
  for (const [at, change] of entry.files.entries()) {
    const { path } = change;
    const { bytes, changedSince = [] } = undone[at] ?? {};
    const owner = later.find(({ settings }) => settings.some((each) => isOwned(each, path)));
    if (owner !== undefined) {
      const to = `'${path}' was switched to '${owner.identity}' later, and stays`;
      notes.push(`${to}. Undo that first: trunkline identity undo --id ${owner.id}`);
      continue;
    }
    if (!existsSync(dirname(path))) {
      notes.push(`'${path}' was not restored: its folder does not exist.`);
      continue;
    }
    if (changedSince.length > 0) {
      const what = `${changedSince.join(", ")} in '${path}'`;
      notes.push(`Not undone, because it was changed since: ${what}. Use --force to undo it too.`);
    }
    if (!isSame(now[at], bytes)) files.push({ ...change, before: now[at], after: bytes });
  }
  return {
    kind: "undo",
    subject: entry.subject,
    undoes: entry.id,
    ...(entry.identity === undefined ? {} : { identity: entry.identity }),
    settings: entry.settings.flatMap((setting) => undoneSetting(setting, files)),
    files,
    notes,
  };
}

/** The change of a setting taken back, if the undo does so. */
function undoneSetting(setting: SettingChange, files: readonly FileChange[]): SettingChange[] {
  const { file, key, before, after } = setting;
  const change = files.find(({ path }) => path === file);
  if (change === undefined) return [];
  const valuesOf = (bytes: Buffer | undefined): string => {
    if (key === MANAGED_BLOCK) return String(blockLines(bytes));
    return JSON.stringify(valuesIn(bytes ?? Buffer.alloc(0), key));
  };
  if (valuesOf(change.before) === valuesOf(change.after)) return [];
  return [{ ...setting, before: after, after: before }];
}

function findEntry(entries: readonly JournalState[], { worktree, id }: UndoOptions): JournalState {
  const found = entries.filter(canBeUndone).findLast((entry) => {
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

function canBeUndone({ kind, outcome, isUndone }: JournalState): boolean {
  return kind !== "undo" && (outcome === "done" || outcome === "finished") && !isUndone;
}

/** Switches that were made after this change and are still in force. */
function laterSwitches(entries: readonly JournalState[], { id }: JournalState): JournalState[] {
  const at = entries.findIndex((entry) => entry.id === id);
  return entries.slice(at + 1).filter((entry) => entry.kind === "switch" && canBeUndone(entry));
}

/**
 * Whether a setting belongs to the identity of a file. Half of two identities must not be mixed, so
 * such a file is undone in order. Settings of all work trees and of remotes stand alone.
 */
function isOwned({ key, file }: SettingChange, path: string): boolean {
  return file === path && !WORKTREE_KEYS.has(canonicalKey(key)) && !key.startsWith("remote.");
}

/** What a switch changes to give each work tree its own configuration. */
const WORKTREE_KEYS: ReadonlySet<string> = new Set([
  "extensions.worktreeconfig",
  "core.bare",
  "core.worktree",
]);

/**
 * A switch may have turned on extensions.worktreeConfig. If a work tree would still use it after the
 * undo, it stays on: that work tree would lose its identity.
 */
function mustStayOn(entry: JournalState, undone: readonly Undone[]): boolean {
  const { repository } = entry.subject;
  if (repository === undefined) return false;
  const isTurnedOn = entry.settings.some(({ key, file }) => {
    return key === "extensions.worktreeConfig" && file === join(repository, "config");
  });
  if (!isTurnedOn) return false;
  return worktreeConfigs(repository).some((path) => {
    const at = entry.files.findIndex((change) => change.path === path);
    if (at < 0) return hasSettings(readFileSync(path));
    return !isSame(undone[at]?.bytes, entry.files[at]?.before) && hasSettings(undone[at]?.bytes);
  });
}

function hasSettings(bytes: Buffer | undefined): boolean {
  return bytes !== undefined && ConfigText.of(bytes).items.length > 0;
}

function worktreeConfigs(commonDir: string): string[] {
  const folder = join(commonDir, "worktrees");
  const linked = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return [commonDir, ...linked].map((each) => join(each, "config.worktree")).filter(existsSync);
}

interface Undone {
  /** The file's content after the undo; undefined if it will not exist. */
  readonly bytes: Buffer | undefined;
  /** What was not undone, because it was changed since. */
  readonly changedSince?: readonly string[];
}

/**
 * Takes one change of a file back. A file that nobody has touched since is restored byte for byte.
 * In any other, only our own settings or our own block are taken back.
 */
export function undoFile(
  change: FileChange,
  now: Buffer | undefined,
  options: RestoreOptions = {},
): Undone {
  const { before, after, isGitConfig } = change;
  const { except, force = false } = options;
  if (isSame(now, after) && except === undefined) return { bytes: before };
  // Somebody has deleted the file since, or made it again.
  if (now === undefined || after === undefined) {
    if (force || now === undefined) return { bytes: force ? before : now };
    return { bytes: now, changedSince: ["everything"] };
  }
  if (!isSameBlock(before, after)) return undoBlock(change, now, force);
  if (!isGitConfig) return { bytes: now, changedSince: ["everything"] };
  const empty = Buffer.alloc(0);
  const { bytes, changedSince } = restoreKeys(now, before ?? empty, after, options);
  const isGone = before === undefined && bytes.length === 0;
  return { bytes: isGone ? undefined : bytes, changedSince };
}

function undoBlock(
  { before, after, isGitConfig }: FileChange,
  now: Buffer,
  force: boolean,
): Undone {
  const lines = blockLines(before);
  if (isSameBlock(now, before)) return { bytes: now };
  if (!force && !isSameBlock(now, after)) return { bytes: now, changedSince: [MANAGED_BLOCK] };
  if (lines === undefined) return { bytes: withoutBlock(now) };
  // Git uses the last value of a setting, ssh the first.
  return { bytes: withBlock(now, { lines, position: isGitConfig ? "end" : "start" }) };
}

function isSameBlock(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return JSON.stringify(blockLines(one)) === JSON.stringify(blockLines(other));
}

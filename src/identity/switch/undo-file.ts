import { type RestoreOptions, restoreKeys } from "../../git/config/restore-keys.ts";
import { type FileChange, isSame } from "../../base/file/file-change.ts";
import { blockLines, MANAGED_BLOCK, withBlock, withoutBlock } from "./managed-blocks.ts";

export interface Undone {
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

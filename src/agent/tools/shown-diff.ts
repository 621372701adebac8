import type { Location, ShownContent } from "./agent-tool.ts";

/** ACP message specification § Message Size Limits: a `session/update` has at most 100 KB. */
const MOST_CHARACTERS = 24_000;
const CONTEXT = 20;

/** A change that was made, cut to the size of an update. */
export function shownDiff(
  path: string,
  oldText: string | undefined,
  newText: string,
): ShownContent {
  const { oldText: before, newText: after, ...diff } = wholeDiff(path, oldText, newText);
  const cut = (text: string): string => text.slice(0, MOST_CHARACTERS / 2);
  return { ...diff, oldText: before === null ? null : cut(before), newText: cut(after) };
}

interface Diff extends ShownContent {
  readonly type: "diff";
  readonly path: string;
  readonly oldText: string | null;
  readonly newText: string;
}

/** A change with all changed lines. In a large file, unchanged lines around them are left out. */
export function wholeDiff(path: string, oldText: string | undefined, newText: string): Diff {
  const size = newText.length + (oldText?.length ?? 0);
  if (size <= MOST_CHARACTERS) return { type: "diff", path, oldText: oldText ?? null, newText };
  const before = (oldText ?? "").split("\n");
  const after = newText.split("\n");
  const from = commonStart(before, after);
  const tail = commonEnd(before, after, from);
  const first = Math.max(0, from - CONTEXT);
  const changed = (lines: readonly string[]): string => {
    return lines.slice(first, Math.min(lines.length, lines.length - tail + CONTEXT)).join("\n");
  };
  const excerpt = { firstLine: first + 1, lines: after.length };
  return {
    type: "diff",
    path,
    oldText: oldText === undefined ? null : changed(before),
    newText: changed(after),
    _meta: { "trunkline/excerpt": excerpt },
  };
}

/** Where a change begins. */
export function changeLocation(
  path: string,
  oldText: string | undefined,
  newText: string,
): Location {
  if (oldText === undefined) return { path };
  const from = commonStart(oldText.split("\n"), newText.split("\n"));
  return { path, line: from + 1 };
}

function commonStart(a: readonly string[], b: readonly string[]): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return Math.min(same, Math.max(0, b.length - 1));
}

function commonEnd(a: readonly string[], b: readonly string[], from: number): number {
  const most = Math.min(a.length, b.length) - from;
  let same = 0;
  while (same < most && a.at(-1 - same) === b.at(-1 - same)) same++;
  return same;
}

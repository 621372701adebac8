import { TrunklineError } from "../base/errors.ts";
import { visibleLine } from "../base/text/visible.ts";
import { worktreeContent } from "./anchor/anchor.ts";
import { parseDiff } from "./anchor/changed-lines.ts";
import { isBinary, linesOf, textOf } from "./anchor/file-text.ts";
import type { FoundRepository } from "./repository.ts";

/** What a diff does to a file: the lines that it replaces, from 1, and the text that replaces them. */
export interface DiffSuggestion {
  readonly line: number;
  readonly end: number;
  readonly suggestion: string;
  /** The lines are those of this commit: the work tree has the change already. */
  readonly commit: string | undefined;
}

/** Reads one change of a file, in the form of `git diff`, as a suggestion. */
export function suggestionOfDiff(
  repository: FoundRepository,
  path: string,
  diff: string,
): DiffSuggestion {
  const refuse = (why: string): never => {
    throw new TrunklineError("usage", `Cannot use the diff for '${visibleLine(path)}': ${why}.`);
  };
  const parts = diff.split(/^(?=diff --git |--- (?!.*\n\+\+\+ \/dev\/null))/m);
  const isOf = (part: string): boolean =>
    [`+++ b/${path}`, `+++ ${path}`].some((head) => part.split("\n", 8).includes(head));
  const lines = parseDiff(parts.filter(isOf).join(""));
  if (lines.length === 0) return refuse("it changes nothing there");
  let shift = 0;
  const numbered = lines.map((each) => {
    const old = each.change === "removed" ? each.line : each.line - shift;
    if (each.change !== "same") shift += each.change === "added" ? 1 : -1;
    return { ...each, old };
  });
  const isChanged = ({ change }: { readonly change: string }): boolean => change !== "same";
  let first = numbered.findIndex(isChanged);
  let last = numbered.findLastIndex(isChanged);
  // Something has to be replaced, if only by itself and more.
  const isInsertion = numbered.slice(first, last + 1).every(({ change }) => change === "added");
  if (isInsertion && first > 0) first--;
  else if (isInsertion) last++;
  const part = numbered.slice(first, last + 1);
  const before = part.filter(({ change }) => change !== "added");
  const after = part.filter(({ change }) => change !== "removed").map(({ text }) => text);
  const [start] = before;
  if (start === undefined) return refuse("the file is empty");
  const line = start.old;
  if (before.some(({ old }, at) => old !== line + at)) {
    return refuse("it changes several places. Add a comment for each");
  }
  const content = worktreeContent(repository, path);
  const now = content === undefined || isBinary(content) ? [] : linesOf(textOf(content));
  const has = (texts: readonly string[]): boolean =>
    texts.every((text, at) => now[line - 1 + at] === text);
  const isThere = has(before.map(({ text }) => text));
  if (!isThere && !has(after)) return refuse("its lines are not those of the file");
  return {
    ...{ line, end: line + before.length - 1, commit: isThere ? undefined : "HEAD" },
    suggestion: after.map((text) => `${text}\n`).join(""),
  };
}

import { visibleLine } from "../base/text/visible.ts";
import type { ReplyView, ThreadView } from "./thread-view.ts";

/** Threads as text for a model: the comments, their repository and their current lines. */
export function threadsText(threads: readonly ThreadView[]): string {
  const byRepository = Map.groupBy(threads, ({ repository }) => repository);
  return Array.from(byRepository, ([repository, those]) => {
    const isGone = those.some(({ isRepositoryGone }) => isRepositoryGone === true);
    const where = `${repositoryText(repository)}${isGone ? " (no longer there)" : ""}`;
    return [...those.map(threadText), where].join("\n\n");
  }).join("\n\n");
}

/** The last line of an answer, which tells an agent where it works. */
export function repositoryText(repository: string): string {
  return `Repository: ${visibleLine(repository)}`;
}

function threadText(thread: ThreadView): string {
  const { id, severity, state, comment, quote = [], suggestion, replies = [] } = thread;
  return [
    `${id} (${severity}, ${state}) ${placeText(thread)}`,
    ...quote.map((line) => `  | ${line}`),
    `${visibleLine(thread.by)}: ${comment}`,
    ...(suggestion === undefined
      ? []
      : ["Suggested instead:", ...suggestion.map((line) => `  | ${line}`)]),
    ...replies.flatMap(replyText),
  ].join("\n");
}

function placeText(thread: ThreadView): string {
  const { line, end, confidence, side, original } = thread;
  const file = visibleLine(thread.file);
  if (confidence === "gone") {
    const was = original?.line === undefined ? "" : ` (it was line ${original.line})`;
    return `${file}: the commented lines are gone${was}`;
  }
  if (line === undefined) return file;
  const lines = end === line ? `${line}` : `${line}-${end}`;
  if (side === "old") return `${file}:${lines} (before the change)`;
  return `${file}:${lines}${confidence === "exact" ? "" : `, ${confidence} confidence`}`;
}

function replyText({ kind, by, text, commit, diff }: ReplyView): string[] {
  if (kind === "claimed" || kind === "returned") return [];
  const what = [text, commit === undefined ? undefined : `commit ${commit}`, diff];
  return [`${visibleLine(by)} ${kind}: ${what.filter((part) => part !== undefined).join("\n")}`];
}

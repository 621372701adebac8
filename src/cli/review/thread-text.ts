import { visibleLine } from "../../base/text/visible.ts";
import type { ThreadView } from "../../review/thread-view.ts";
import { firstLine } from "../shell/layout.ts";

/** The current position of a thread: `?` marks a guess, `(gone)` lines that no longer exist. */
export function whereOf(thread: ThreadView): string {
  const { file, line, end, confidence, side, original, isRepositoryGone, repository } = thread;
  if (isRepositoryGone === true) {
    const at = original?.line === undefined ? "" : `:${original.line}`;
    return `${visibleLine(file)}${at} (repository gone: ${visibleLine(repository)})`;
  }
  if (confidence === "gone") {
    return `${visibleLine(file)}:${original?.line ?? ""}(gone)`.replace(":(", " (");
  }
  const lines = line === undefined ? "" : `:${line}${end === line ? "" : `-${end}`}`;
  const mark = confidence === "low" ? "?" : side === "old" ? "(old)" : "";
  return `${visibleLine(file)}${lines}${mark}`;
}

const SHORTEST_COMMENT = 20;

/** One line per thread, cut at the edge of a terminal, but with some characters of the comment. */
export function tableText(threads: readonly ThreadView[], edge: number): string {
  const rows = threads.map((thread) => [
    thread.id,
    thread.state,
    thread.severity,
    whereOf(thread),
    firstLine(thread.comment),
  ]);
  const widths = [0, 1, 2, 3].map((column) =>
    rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0),
  );
  const most = Math.max(
    edge,
    widths.reduce((sum, width) => sum + width + 2, SHORTEST_COMMENT),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => (line.length > most ? `${line.slice(0, most - 1)}…\n` : `${line}\n`))
    .join("");
}

/** A whole thread, as a person reads it. */
export function threadText(thread: ThreadView): string {
  const { id, state, severity, by, at, comment, quote = [], suggestion, claimedBy } = thread;
  const head = [
    `${id}  ${state}${claimedBy === undefined ? "" : ` by ${visibleLine(claimedBy)}`}  ${severity}`,
    `${whereOf(thread)}  (${thread.confidence}, by ${thread.method})`,
  ];
  const before = thread.original;
  if (before !== undefined && thread.confidence !== "gone") {
    head.push(
      `made on ${visibleLine(before.file)}${before.line === undefined ? "" : `:${before.line}`}`,
    );
  }
  const parts = [
    head.join("\n"),
    quote.map((line) => `  | ${line}`).join("\n"),
    `${visibleLine(by)}, ${at}:\n${indented(comment)}`,
    suggestion === undefined
      ? ""
      : `suggests:\n${suggestion.map((line) => `  + ${line}`).join("\n")}`,
    ...(thread.replies ?? []).map((reply) => {
      const facts = [reply.commit === undefined ? "" : `  commit ${visibleLine(reply.commit)}`];
      const said = [reply.text, reply.diff].flatMap((text) =>
        text === undefined ? [] : indented(text),
      );
      const what = [...facts, ...said].filter((line) => line !== "").join("\n");
      return `${visibleLine(reply.by)} ${reply.kind}, ${reply.at}${what === "" ? "" : `:\n${what}`}`;
    }),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line}`.trimEnd())
    .join("\n");
}

import { visibleLine } from "../../base/text/visible.ts";
import { firstLine } from "../shell/layout.ts";
import type { BriefView } from "../../review/brief-list.ts";
import type { ThreadView } from "../../review/thread-view.ts";

/** A line of a list, before it is laid out. */
export interface ThreadRow {
  readonly id: string;
  readonly state: string;
  readonly severity: string;
  /** The position, as `whereOf` has it. */
  readonly where: string;
  /** The first line of the comment. */
  readonly said: string;
}

export function threadRow(view: BriefView): ThreadRow {
  const { id, state, severity, comment } = view;
  return { id, state, severity, where: whereOf(view), said: firstLine(comment) };
}

/** One line per thread, in columns. */
export function threadTable(threads: readonly ThreadRow[], width: number): string {
  const widths = { id: 0, state: 0, severity: 0, where: 0 };
  for (const { id, state, severity, where } of threads) {
    widths.id = Math.max(widths.id, id.length);
    widths.state = Math.max(widths.state, state.length);
    widths.severity = Math.max(widths.severity, severity.length);
    widths.where = Math.max(widths.where, where.length);
  }
  const gaps = 2 * 4;
  const taken = widths.id + widths.state + widths.severity + widths.where + gaps;
  const room = Math.max(20, width - taken);
  return threads
    .map(({ id, state, severity, where, said }) => {
      const about = `${id.padEnd(widths.id)}  ${state.padEnd(widths.state)}`;
      const place = `${severity.padEnd(widths.severity)}  ${where.padEnd(widths.where)}`;
      return `${about}  ${place}  ${cut(said, room)}\n`;
    })
    .join("");
}

/** Lines that a menu can split at the colon: `ID:text`. */
export function threadMenu(threads: readonly ThreadRow[]): string {
  return threads.map(({ id, state, where, said }) => `${id}:${state} ${where} ${said}\n`).join("");
}

/** The current position of a thread: `?` marks a guess, `(gone)` lines that no longer exist. */
export function whereOf(thread: BriefView): string {
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

function cut(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

import { visibleLine } from "../../base/text/visible.ts";
import { firstLine } from "../shell/layout.ts";
import type { BriefView } from "../../review/brief-list.ts";
import type { ThreadView } from "../../review/thread-view.ts";

/** One line per thread, in columns. */
export function threadTable(threads: readonly BriefView[], width: number): string {
  const places: string[] = [];
  const widths = { id: 0, state: 0, severity: 0, place: 0 };
  for (const thread of threads) {
    const place = whereOf(thread);
    places.push(place);
    widths.id = Math.max(widths.id, thread.id.length);
    widths.state = Math.max(widths.state, thread.state.length);
    widths.severity = Math.max(widths.severity, thread.severity.length);
    widths.place = Math.max(widths.place, place.length);
  }
  const gaps = 2 * 4;
  const taken = widths.id + widths.state + widths.severity + widths.place + gaps;
  const room = Math.max(20, width - taken);
  return threads
    .map(({ id, state, severity, comment }, at) => {
      const about = `${id.padEnd(widths.id)}  ${state.padEnd(widths.state)}`;
      const where = `${severity.padEnd(widths.severity)}  ${places[at]?.padEnd(widths.place)}`;
      return `${about}  ${where}  ${cut(firstLine(comment), room)}\n`;
    })
    .join("");
}

/** Lines that a menu can split at the colon: `ID:text`. */
export function threadMenu(threads: readonly BriefView[]): string {
  return threads
    .map((thread) => {
      const said = firstLine(thread.comment);
      return `${thread.id}:${thread.state} ${whereOf(thread)} ${said}\n`;
    })
    .join("");
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

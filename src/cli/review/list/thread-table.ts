import type { BriefView } from "../../../review/brief-list.ts";
import { firstLine } from "../../shell/layout.ts";
import { whereOf } from "../thread-text.ts";

/** A list in columns. It may have ten thousand lines, so it is laid out once, and edited in place. */
export interface ThreadTable {
  /** One for each thread. Comments are not cut. */
  readonly lines: readonly string[];
  /** Of all columns but the comment. */
  readonly widths: Readonly<Record<"id" | "state" | "severity" | "where", number>>;
  /** The length of each position: a file name may end with a space. */
  readonly wheres: readonly number[];
}

const GAP = "  ";
const SHORTEST_COMMENT = 20;

export function threadTable(threads: readonly BriefView[]): ThreadTable {
  const widths = { id: 0, state: 0, severity: 0, where: 0 };
  const wheres: number[] = [];
  const places: string[] = [];
  for (const thread of threads) {
    const where = whereOf(thread);
    places.push(where);
    wheres.push(where.length);
    widths.id = Math.max(widths.id, thread.id.length);
    widths.state = Math.max(widths.state, thread.state.length);
    widths.severity = Math.max(widths.severity, thread.severity.length);
    widths.where = Math.max(widths.where, where.length);
  }
  const lines = threads.map(({ id, state, severity, comment }, at) => {
    const about = `${id.padEnd(widths.id)}${GAP}${state.padEnd(widths.state)}`;
    const where = `${severity.padEnd(widths.severity)}${GAP}${places[at]?.padEnd(widths.where)}`;
    return `${about}${GAP}${where}${GAP}${firstLine(comment)}`;
  });
  return { lines, widths, wheres };
}

/** The same with other positions of some threads, by their indexes. */
export function withPositions(
  { lines, widths, wheres }: ThreadTable,
  indexes: readonly number[],
  positions: readonly string[],
): ThreadTable {
  const lengths = wheres.slice();
  indexes.forEach((at, n) => (lengths[at] = positions[n]?.length ?? 0));
  const width = lengths.reduce((most, length) => (length > most ? length : most), 0);
  const [from, to] = whereColumn(widths);
  const kept = Math.min(to, from + width);
  const more = " ".repeat(from + width - kept);
  const isSame = width === widths.where;
  const next = isSame
    ? lines.slice()
    : lines.map((line) => `${line.slice(0, kept)}${more}${line.slice(to)}`);
  indexes.forEach((at, n) => {
    const line = lines[at] ?? "";
    next[at] = `${line.slice(0, from)}${positions[n]?.padEnd(width)}${line.slice(to)}`;
  });
  return { lines: next, widths: { ...widths, where: width }, wheres: lengths };
}

/** One line per thread, as long as a terminal is wide, but with some characters of the comment. */
export function tableText({ lines, widths }: ThreadTable, width: number): string {
  const [, to] = whereColumn(widths);
  const most = Math.max(width, to + GAP.length + SHORTEST_COMMENT);
  // Joined before they are cut: a slice of a line that was put together of parts copies all of it.
  const whole = lines.join("\n");
  const shown: string[] = [];
  let at = 0;
  for (let n = 0; n < lines.length; n++) {
    const length = lines[n]?.length ?? 0;
    if (length > most) shown.push(whole.slice(at, at + most - 1), "…\n");
    else shown.push(whole.slice(at, at + length), "\n");
    at += length + 1;
  }
  return shown.join("");
}

/** Lines that a menu can split at the colon: `ID:text`. */
export function menuText(table: ThreadTable): string {
  const { lines, widths, wheres } = table;
  const [from, to] = whereColumn(widths);
  const shown = lines.map((line, at) => {
    const state = line.slice(widths.id + GAP.length, widths.id + GAP.length + widths.state);
    const where = line.slice(from, from + (wheres[at] ?? 0));
    const said = line.slice(to + GAP.length);
    return `${idAt(table, at)}:${state.trimEnd()} ${where} ${said}\n`;
  });
  return shown.join("");
}

/** The id of a thread. */
export function idAt({ lines, widths }: ThreadTable, at: number): string {
  return (lines[at] ?? "").slice(0, widths.id).trimEnd();
}

/** Where the column of positions begins and ends. */
function whereColumn({ id, state, severity, where }: ThreadTable["widths"]): [number, number] {
  const from = id + state + severity + 3 * GAP.length;
  return [from, from + where];
}

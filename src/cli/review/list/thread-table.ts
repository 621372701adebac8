import type { BriefView } from "../../../review/brief-list.ts";
import { firstLine } from "../../shell/layout.ts";
import { whereOf } from "../thread-text.ts";

/**
 * A list in columns. It may have ten thousand lines, so it is one text: an array of lines takes longer
 * to make, and longer still to collect as garbage.
 */
export interface ThreadTable {
  /** A line for each thread. Comments are not cut. */
  readonly text: string;
  /** How many there are. */
  readonly threads: number;
  /** Of all columns but the comment. */
  readonly widths: Readonly<Record<"id" | "state" | "severity" | "where", number>>;
  /** The lengths of positions that end with white space, as a file name may, by the threads' indexes. */
  readonly spaced: Readonly<Record<number, number>>;
}

const GAP = "  ";
const SHORTEST_COMMENT = 20;

export function threadTable(threads: readonly BriefView[]): ThreadTable {
  const widths = { id: 0, state: 0, severity: 0, where: 0 };
  const wheres: string[] = [];
  for (const thread of threads) {
    const where = whereOf(thread);
    wheres.push(where);
    widths.id = Math.max(widths.id, thread.id.length);
    widths.state = Math.max(widths.state, thread.state.length);
    widths.severity = Math.max(widths.severity, thread.severity.length);
    widths.where = Math.max(widths.where, where.length);
  }
  const lines = threads.map(({ id, state, severity, comment }, at) => {
    const about = `${id.padEnd(widths.id)}${GAP}${state.padEnd(widths.state)}`;
    const where = `${severity.padEnd(widths.severity)}${GAP}${wheres[at]?.padEnd(widths.where)}`;
    return `${about}${GAP}${where}${GAP}${firstLine(comment)}\n`;
  });
  return { text: lines.join(""), threads: lines.length, widths, spaced: spacedIn(wheres) };
}

/** Other positions of some threads. */
export interface Moves {
  /** By the threads' indexes. */
  readonly wheres: readonly (string | undefined)[];
  /** The length of the longest position in the list. */
  readonly width: number;
}

/** The same with other positions of some threads. */
export function withPositions(table: ThreadTable, moves: Moves): ThreadTable {
  const { threads, widths, spaced } = table;
  const { wheres, width } = moves;
  const others = Object.entries(spaced).filter(([at]) => wheres[Number(at)] === undefined);
  return {
    text: laidOut(table, moves, Infinity),
    threads,
    widths: { ...widths, where: width },
    spaced: { ...Object.fromEntries(others), ...spacedIn(wheres) },
  };
}

/** The lines with other positions, cut to a length. Only what differs is taken out of the text. */
function laidOut({ text, threads, widths }: ThreadTable, moves: Moves, most: number): string {
  const { wheres, width } = moves;
  const [from, to] = whereColumn(widths);
  const more = width - widths.where;
  // If the column is narrower now, what is left out of other positions is space.
  const kept = Math.min(to, from + width);
  const pad = " ".repeat(Math.max(more, 0));
  const parts: string[] = [];
  let done = 0;
  let start = 0;
  for (let at = 0; at < threads; at++) {
    const end = text.indexOf("\n", start);
    const where = wheres[at];
    if (where !== undefined) {
      parts.push(text.slice(done, start + from), where.padEnd(width));
      done = start + to;
    } else if (more !== 0) {
      parts.push(text.slice(done, start + kept), pad);
      done = start + to;
    }
    if (end - start + more > most) {
      parts.push(text.slice(done, start + most - more - 1), "…");
      done = end;
    }
    start = end + 1;
  }
  parts.push(text.slice(done));
  return parts.join("");
}

function spacedIn(wheres: readonly (string | undefined)[]): Record<number, number> {
  const spaced: Record<number, number> = {};
  for (let at = 0; at < wheres.length; at++) {
    const where = wheres[at];
    if (where !== undefined && where !== where.trimEnd()) spaced[at] = where.length;
  }
  return spaced;
}

/** One line per thread, cut at the edge of a terminal, but with some characters of the comment. */
export function tableText(
  table: ThreadTable,
  edge: number,
  moves: Moves = { wheres: [], width: table.widths.where },
): string {
  const [, to] = whereColumn({ ...table.widths, where: moves.width });
  return laidOut(table, moves, Math.max(edge, to + GAP.length + SHORTEST_COMMENT));
}

/** Lines that a menu can split at the colon: `ID:text`. */
export function menuText(table: ThreadTable): string {
  const { text, widths, spaced } = table;
  const [from, to] = whereColumn(widths);
  const shown = text
    .split("\n")
    .slice(0, -1)
    .map((line, at) => {
      const id = line.slice(0, widths.id).trimEnd();
      const state = line.slice(widths.id + GAP.length, widths.id + GAP.length + widths.state);
      const where = line.slice(from, to);
      const position = at in spaced ? where.slice(0, spaced[at]) : where.trimEnd();
      return `${id}:${state.trimEnd()} ${position} ${line.slice(to + GAP.length)}\n`;
    });
  return shown.join("");
}

/** The ids of all threads. */
export function idsOf({ text, widths }: ThreadTable): string[] {
  return text.split("\n").map((line) => line.slice(0, widths.id).trimEnd());
}

/** Where the column of positions begins and ends. */
function whereColumn({ id, state, severity, where }: ThreadTable["widths"]): [number, number] {
  const from = id + state + severity + 3 * GAP.length;
  return [from, from + where];
}

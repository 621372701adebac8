import { type BriefView, briefViews } from "../../review/brief-list.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import type { BriefPlace, BriefThread } from "../../store/review/reviews-brief.ts";
import { type ThreadRow, whereOf } from "./thread-text.ts";

/** Where threads were opened. Each array has one value for each of them. */
export interface Columns {
  /** Indexes of their places. */
  readonly places: readonly number[];
  readonly lines: readonly (number | null)[];
  readonly ends: readonly (number | null)[];
}

/** The rows of a list, and what is needed to look for some of them again. */
export interface ListRows {
  readonly rows: readonly ThreadRow[];
  readonly columns: Columns;
  readonly places: readonly BriefPlace[];
  /** What the positions of a place depend on, beside its file. */
  readonly dependsOn: ReadonlyMap<BriefPlace, Dependency>;
}

type Dependency = NonNullable<BriefView["dependsOn"]>;

/** What is needed to keep the rows of threads. */
export function listRows(
  rows: readonly ThreadRow[],
  threads: readonly BriefThread[],
  views: readonly BriefView[],
): ListRows {
  const indexes = new Map<BriefPlace, number>();
  const columns: { [K in keyof Columns]: Columns[K][number][] } = {
    places: [],
    lines: [],
    ends: [],
  };
  for (const { place, line, end } of threads) {
    let index = indexes.get(place);
    if (index === undefined) indexes.set(place, (index = indexes.size));
    columns.places.push(index);
    columns.lines.push(line ?? null);
    columns.ends.push(end ?? null);
  }
  const dependsOn = dependencies(threads, views);
  return { rows, columns, places: [...indexes.keys()], dependsOn };
}

/** Looks for the threads of some places again. The others are where they were. */
export async function renewedRows(
  commands: ReviewCommands,
  { rows, columns, places, dependsOn }: ListRows,
  stale: ReadonlySet<BriefPlace>,
): Promise<ListRows> {
  const indexes: number[] = [];
  const threads: BriefThread[] = [];
  for (const [at, row] of rows.entries()) {
    const place = places[columns.places[at] ?? -1];
    if (place === undefined || !stale.has(place)) continue;
    const line = columns.lines[at] ?? undefined;
    const end = columns.ends[at] ?? undefined;
    const { id, state, severity, said: comment } = row as BriefThread & ThreadRow;
    threads.push({ id, state, severity, comment, place, line, end, opened: at });
    indexes.push(at);
  }
  const views = await briefViews(commands, threads);
  const next = [...rows];
  for (const [n, view] of views.entries()) {
    const at = indexes[n] ?? -1;
    const row = next[at];
    if (row !== undefined) next[at] = { ...row, where: whereOf(view) };
  }
  const others = [...dependsOn].filter(([place]) => !stale.has(place));
  const all = new Map([...others, ...dependencies(threads, views)]);
  return { rows: next, columns, places, dependsOn: all };
}

function dependencies(
  threads: readonly BriefThread[],
  views: readonly BriefView[],
): Map<BriefPlace, Dependency> {
  const found = new Map<BriefPlace, Dependency>();
  for (const [at, { dependsOn }] of views.entries()) {
    const place = threads[at]?.place;
    if (dependsOn !== undefined && place !== undefined) found.set(place, dependsOn);
  }
  return found;
}

/** Rows as text: a line with the columns, then one for each row. */
export function rowsText({ rows, columns }: Pick<ListRows, "rows" | "columns">): string {
  // No field has a tab or a line end: they are as a terminal shows them.
  const lines = rows.map(({ id, state, severity, where, said }) => {
    return `${id}\t${state}\t${severity}\t${where}\t${said}\n`;
  });
  return `${JSON.stringify(columns)}\n${lines.join("")}`;
}

export function rowsIn(text: string): Pick<ListRows, "rows" | "columns"> {
  const lines = text.split("\n");
  const columns = JSON.parse(lines[0] ?? "") as Columns;
  const rows = columns.places.map((_, at): ThreadRow => {
    const [id = "", state = "", severity = "", where = "", said = ""] =
      lines[at + 1]?.split("\t") ?? [];
    return { id, state, severity, where, said };
  });
  return { rows, columns };
}

import { matcher } from "../text/search.ts";
import type { TrafficRow } from "../../server/dashboard/session-api.ts";

/** A message, or several of a kind in a row. */
export interface TrafficGroup {
  readonly first: TrafficRow;
  readonly last: TrafficRow;
  readonly count: number;
  readonly size: number;
}

/** Folds runs of chunks into one row: one answer of an agent may be hundreds of messages. */
export function foldTraffic(rows: readonly TrafficRow[]): TrafficGroup[] {
  const groups: TrafficGroup[] = [];
  for (const row of rows) {
    const before = groups.at(-1);
    if (before !== undefined && belongs(before.first, row)) {
      const { first, count, size } = before;
      groups[groups.length - 1] = { first, last: row, count: count + 1, size: size + row.size };
    } else {
      groups.push({ first: row, last: row, count: 1, size: row.size });
    }
  }
  return groups;
}

function belongs(first: TrafficRow, row: TrafficRow): boolean {
  return (
    row.kind === "notification" &&
    first.kind === "notification" &&
    row.update !== undefined &&
    row.update.endsWith("_chunk") &&
    first.update === row.update &&
    first.lane === row.lane &&
    first.direction === row.direction &&
    first.peer === row.peer
  );
}

export type Lane = TrafficRow["lane"];

/** What is shown of the traffic: the lanes, and rows whose method, update, id or text has the words. */
export function filterTraffic(
  rows: readonly TrafficRow[],
  lanes: ReadonlySet<Lane>,
  search: string,
): TrafficRow[] {
  const matches = matcher<TrafficRow>(search, ({ method, update, id, text, peer, kind }) =>
    [method, update, id, text, peer, kind].join("\n"),
  );
  return rows.filter((row) => lanes.has(row.lane) && matches(row));
}

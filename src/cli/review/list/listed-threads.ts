import { type BriefPosition, briefPositions, type OpenedAt } from "../../../review/brief-list.ts";
import type { ReviewCommands } from "../../../review/review-commands.ts";
import type { BriefPlace } from "../../../store/review/reviews-brief.ts";
import { idAt, type ThreadTable, withPositions } from "./thread-table.ts";
import { whereOf } from "../thread-text.ts";

/** A list, and what is needed to look for some of its threads again. */
export interface ListedThreads {
  readonly table: ThreadTable;
  readonly places: readonly BriefPlace[];
  readonly opened: OpenedColumns;
  /** What the positions of a place depend on, beside its file. */
  readonly dependsOn: ReadonlyMap<BriefPlace, Dependency>;
}

/** Where threads were opened. Each array has a value for each of them. */
interface OpenedColumns {
  /** Indexes of their places. */
  readonly places: readonly number[];
  readonly lines: readonly (number | null)[];
  readonly ends: readonly (number | null)[];
}

type Dependency = NonNullable<BriefPosition["dependsOn"]>;

export function listedThreads(
  table: ThreadTable,
  threads: readonly OpenedAt[],
  positions: readonly BriefPosition[],
): ListedThreads {
  const indexes = new Map<BriefPlace, number>();
  const places: number[] = [];
  const lines: (number | null)[] = [];
  const ends: (number | null)[] = [];
  for (const { place, line = null, end = null } of threads) {
    let index = indexes.get(place);
    if (index === undefined) {
      index = indexes.size;
      indexes.set(place, index);
    }
    places.push(index);
    lines.push(line);
    ends.push(end);
  }
  const dependsOn = dependencies(threads, positions);
  return { table, places: [...indexes.keys()], opened: { places, lines, ends }, dependsOn };
}

/** Looks for the threads of some places again. The others are where they were. */
export async function lookedForAgain(
  commands: ReviewCommands,
  { table, places, opened, dependsOn }: ListedThreads,
  stale: ReadonlySet<BriefPlace>,
): Promise<ListedThreads> {
  const indexes: number[] = [];
  const threads: OpenedAt[] = [];
  const isStale = places.map((place) => stale.has(place));
  for (let at = 0; at < opened.places.length; at++) {
    const index = opened.places[at] ?? -1;
    const place = places[index];
    if (place === undefined || isStale[index] !== true) continue;
    const [line, end] = [opened.lines[at] ?? undefined, opened.ends[at] ?? undefined];
    threads.push({ id: idAt(table, at), place, line, end });
    indexes.push(at);
  }
  const positions = await briefPositions(commands, threads);
  const wheres = new Map(positions.map((position, n) => [indexes[n] ?? -1, whereOf(position)]));
  const others = [...dependsOn].filter(([place]) => !stale.has(place));
  return {
    table: withPositions(table, wheres),
    places,
    opened,
    dependsOn: new Map([...others, ...dependencies(threads, positions)]),
  };
}

function dependencies(
  threads: readonly OpenedAt[],
  positions: readonly BriefPosition[],
): Map<BriefPlace, Dependency> {
  const found = new Map<BriefPlace, Dependency>();
  for (const [at, { dependsOn }] of positions.entries()) {
    const place = threads[at]?.place;
    if (dependsOn !== undefined && place !== undefined) found.set(place, dependsOn);
  }
  return found;
}

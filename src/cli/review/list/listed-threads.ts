import {
  type BriefPosition,
  type BriefView,
  type OpenedThreads,
  searchThreads,
} from "../../../review/brief-list.ts";
import type { ReviewCommands } from "../../../review/review-commands.ts";
import type { BriefPlace, BriefThread } from "../../../store/review/reviews-brief.ts";
import { idsOf, type Moves, type ThreadTable } from "./thread-table.ts";
import { whereOf } from "../thread-text.ts";

/** A list, and what is needed to look for some of its threads again. */
export interface ListedThreads {
  readonly table: ThreadTable;
  /** Positions that are not in the table: it is laid out with them once, when it is printed. */
  readonly moves?: Moves;
  readonly places: readonly ListedPlace[];
}

/** A version of a file that was commented on. */
export interface ListedPlace {
  readonly place: BriefPlace;
  /**
   * Its threads: the index in the list, the first line and the last one of each; 0 if it has no lines.
   * As text, with commas, because it is looked at only after a change of the file.
   */
  readonly opened: string;
  /** How many there are. */
  readonly count: number;
  /** The length of the longest position. */
  readonly longest: number;
  /** What the positions depend on, beside the file. */
  readonly dependsOn: BriefPosition["dependsOn"];
}

/** Places whose threads are looked for again, each with the numbers of its `opened`. */
export type StalePlaces = ReadonlyMap<BriefPlace, readonly number[]>;

export function listedThreads(
  table: ThreadTable,
  threads: readonly BriefThread[],
  views: readonly BriefView[],
): ListedThreads {
  const found = new Map<
    BriefPlace,
    { opened: number[]; longest: number; dependsOn: BriefPosition["dependsOn"] }
  >();
  for (let at = 0; at < threads.length; at++) {
    const thread = threads[at];
    const view = views[at];
    if (thread === undefined || view === undefined) continue;
    let listed = found.get(thread.place);
    if (listed === undefined) {
      listed = { opened: [], longest: 0, dependsOn: undefined };
      found.set(thread.place, listed);
    }
    listed.opened.push(at, thread.line ?? 0, thread.end ?? 0);
    listed.longest = Math.max(listed.longest, whereOf(view).length);
    listed.dependsOn ??= view.dependsOn;
  }
  const places = Array.from(found, ([place, { opened, longest, dependsOn }]): ListedPlace => {
    const count = opened.length / 3;
    return { place, opened: opened.join(","), count, longest, dependsOn };
  });
  return { table, places };
}

/** Looks for the threads of some places again. The others are where they were. */
export async function lookedForAgain(
  commands: ReviewCommands,
  { table, places }: ListedThreads,
  stale: StalePlaces,
): Promise<ListedThreads> {
  let ids: readonly string[] | undefined;
  const idAt = (at: number): string => (ids ??= idsOf(table))[at] ?? "";
  const indexes = new Map<BriefPlace, number[]>();
  const searched: OpenedThreads[] = [];
  for (const [place, numbers] of stale) {
    const { threads, opened } = openedIn(numbers);
    indexes.set(place, threads);
    searched.push({ place, opened, idOf: (which) => idAt(threads[which] ?? -1) });
  }
  const wheres = Array.from<string | undefined>({ length: table.threads });
  const found = new Map<BriefPlace, Pick<ListedPlace, "longest" | "dependsOn">>();
  await searchThreads(commands, searched, ({ place }, positions) => {
    const threads = indexes.get(place) ?? [];
    let longest = 0;
    let dependsOn: BriefPosition["dependsOn"];
    for (let n = 0; n < positions.length; n++) {
      const position = positions[n];
      if (position === undefined) continue;
      const where = whereOf(position);
      wheres[threads[n] ?? -1] = where;
      longest = Math.max(longest, where.length);
      dependsOn = position.dependsOn ?? dependsOn;
    }
    found.set(place, { longest, dependsOn });
  });
  const next = places.map((listed) => ({ ...listed, ...found.get(listed.place) }));
  const width = next.reduce((most, { longest }) => Math.max(most, longest), 0);
  return { table, moves: { wheres, width }, places: next };
}

/**
 * The indexes of the threads of a place, and their lines. A function of its own, because V8 compiles the
 * whole function that a long loop is in, and the process would wait for that at its end.
 */
function openedIn(numbers: readonly number[]): {
  threads: number[];
  opened: { line?: number; end?: number }[];
} {
  const opened: { line?: number; end?: number }[] = [];
  const threads: number[] = [];
  for (let n = 0; n < numbers.length; n += 3) {
    // By index: destructuring an array runs its iterator, thousands of times.
    const line = numbers[n + 1] ?? 0;
    const end = numbers[n + 2] ?? 0;
    threads.push(numbers[n] ?? 0);
    opened.push(line === 0 || end === 0 ? {} : { line, end });
  }
  return { threads, opened };
}

/** What `opened` of a place has. */
export function numbersIn(opened: string): number[] {
  return JSON.parse(`[${opened}]`) as number[];
}

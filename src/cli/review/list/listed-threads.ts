import { type BriefPosition, briefPositions, type OpenedAt } from "../../../review/brief-list.ts";
import type { ReviewCommands } from "../../../review/review-commands.ts";
import type { BriefPlace } from "../../../store/review/reviews-brief.ts";
import { idAt, type ThreadTable, withPositions } from "./thread-table.ts";
import { whereOf } from "../thread-text.ts";

/** A list, and what is needed to look for some of its threads again. */
export interface ListedThreads {
  readonly table: ThreadTable;
  readonly places: readonly ListedPlace[];
}

/** A version of a file that was commented on. */
export interface ListedPlace {
  readonly place: BriefPlace;
  /** Its threads: the index in the list, the first line and the last one of each; 0 if it has no lines. */
  readonly opened: readonly number[];
  /** What the positions depend on, beside the file. */
  readonly dependsOn: BriefPosition["dependsOn"];
}

export function listedThreads(
  table: ThreadTable,
  threads: readonly OpenedAt[],
  positions: readonly BriefPosition[],
): ListedThreads {
  const found = new Map<BriefPlace, { opened: number[]; dependsOn: BriefPosition["dependsOn"] }>();
  for (let at = 0; at < threads.length; at++) {
    const thread = threads[at];
    if (thread === undefined) continue;
    let listed = found.get(thread.place);
    if (listed === undefined) {
      listed = { opened: [], dependsOn: undefined };
      found.set(thread.place, listed);
    }
    listed.opened.push(at, thread.line ?? 0, thread.end ?? 0);
    listed.dependsOn ??= positions[at]?.dependsOn;
  }
  return { table, places: Array.from(found, ([place, listed]) => ({ place, ...listed })) };
}

/** Looks for the threads of some places again. The others are where they were. */
export async function lookedForAgain(
  commands: ReviewCommands,
  { table, places }: ListedThreads,
  stale: ReadonlySet<BriefPlace>,
): Promise<ListedThreads> {
  const indexes: number[] = [];
  const threads: OpenedAt[] = [];
  for (const { place, opened } of places) {
    if (!stale.has(place)) continue;
    for (let n = 0; n < opened.length; n += 3) {
      const at = opened[n] ?? -1;
      const line = opened[n + 1] || undefined;
      const end = opened[n + 2] || undefined;
      threads.push({ id: idAt(table, at), place, line, end });
      indexes.push(at);
    }
  }
  const positions = await briefPositions(commands, threads, { isChanged: true });
  const dependsOn = new Map<BriefPlace, BriefPosition["dependsOn"]>();
  const wheres = positions.map((position, n) => {
    const place = threads[n]?.place;
    if (place && position.dependsOn) dependsOn.set(place, position.dependsOn);
    return whereOf(position);
  });
  const next = places.map((listed) => {
    const { place } = listed;
    return stale.has(place) ? { ...listed, dependsOn: dependsOn.get(place) } : listed;
  });
  return { table: withPositions(table, indexes, wheres), places: next };
}

import { lstatSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";

import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { VERSION } from "../../../base/version.ts";
import { blobId } from "../../../review/anchor/file-lines.ts";
import { writeCache } from "../../../review/anchor/position-cache.ts";
import { type FoundRepository, headCommit } from "../../../review/repository.ts";
import type { BriefPlace } from "../../../store/review/reviews-brief.ts";
import { REVIEWS_FILE } from "../../../store/store-files.ts";
import {
  type ListedPlace,
  type ListedThreads,
  numbersIn,
  type StalePlaces,
} from "./listed-threads.ts";
import { type ThreadTable, withPositions } from "./thread-table.ts";

/** A shorter list is made faster than it is looked up. */
const LEAST = 200;
/** Bytes. */
const LARGEST = 32 * 1024 * 1024;
/** Milliseconds in which a file may be changed twice without a trace in its times. */
const UNCERTAIN = 2_000;

/** A version of a file that was commented on, and what the positions of its comments depend on. */
interface KeptPlace
  extends Omit<BriefPlace, "repository">, Omit<ListedPlace, "place" | "dependsOn"> {
  /** Of the file; empty if its comments have to be looked for every time. */
  readonly stamp: string;
  readonly isOfCommit: boolean;
}

/** The first line of the file. The text of the table follows. */
interface Header {
  readonly version: string;
  readonly all: boolean;
  readonly store: string;
  readonly head: string | undefined;
  readonly places: readonly KeptPlace[];
  readonly layout: Omit<ThreadTable, "text">;
  /** Bytes after this line. Writing a cache does not wait for the disk, which may lose a part of it. */
  readonly rest: number;
}

export interface Kept {
  readonly list: ListedThreads;
  readonly stale: StalePlaces;
}

/**
 * The list of a repository as it was printed last. A position is used again for as long as the store and
 * the commented file are the same, which git, too, tells from their sizes and times, and the commit or
 * other files if it depends on them. It is a cache: whatever is wrong with its file costs time and
 * nothing else.
 */
export class KeptList {
  readonly #began = Date.now();
  readonly #data: string;
  readonly #here: FoundRepository;
  readonly #all: boolean;
  readonly #path: string;
  /** Read before the list is made, so that a list of the commit before is not kept for this one. */
  readonly #head: string | undefined;
  /** Files that were changed too late to be kept when the list was read: they need no other look. */
  readonly #late = new Set<string>();

  /** `all`: with resolved threads. */
  constructor(data: string, here: FoundRepository, all: boolean) {
    this.#data = data;
    this.#here = here;
    this.#all = all;
    this.#head = headCommit(here);
    this.#path = join(data, "positions", `${blobId(Buffer.from(here.root))}.list`);
  }

  /** Undefined if there is none, or the store has changed. */
  read(): Kept | undefined {
    try {
      const file = readRegularFile(this.#path, { most: LARGEST });
      if (file === undefined || file.includes(0)) return undefined;
      const from = file.indexOf("\n") + 1;
      const header = JSON.parse(file.toString("utf8", 0, from)) as Header;
      const isUsable = header.version === VERSION && header.all === this.#all;
      if (!isUsable || from + header.rest !== file.length) return undefined;
      if (header.store !== this.#storeStamp()) return undefined;
      const { gitDir, root } = this.#here;
      const stale = new Map<BriefPlace, readonly number[]>();
      const places = header.places.map((kept): ListedPlace => {
        const { path, side, blob, commit, opened, count, longest, isOfCommit } = kept;
        const place = { repository: { gitDir, root }, path, side, blob, commit };
        if (this.#isStale(kept, header.head)) stale.set(place, numbersIn(opened));
        return { place, opened, count, longest, dependsOn: isOfCommit ? "commits" : undefined };
      });
      const table = { text: file.toString("utf8", from), ...header.layout };
      return isWhole(table, places, stale) ? { list: { table, places }, stale } : undefined;
    } catch {
      return undefined;
    }
  }

  /** `stale` has the places whose threads were looked for; by default all. */
  keep({ table, moves, places }: ListedThreads, stale?: Pick<StalePlaces, "has">): void {
    const before = this.#began - UNCERTAIN;
    const store = table.threads < LEAST ? undefined : this.#storeStamp(before);
    if (store === undefined) return;
    const stampOf = ({ place, dependsOn }: ListedPlace): string =>
      dependsOn === "files" ? "" : this.#fileStamp(place, before);
    const isNew = (listed: ListedPlace): boolean =>
      (stale?.has(listed.place) ?? true) && stampOf(listed) !== "";
    // If nothing more is known than before, what is kept is as good.
    if (!places.some(isNew)) return;
    const { text, ...layout } = moves === undefined ? table : withPositions(table, moves);
    const header: Header = {
      version: VERSION,
      all: this.#all,
      store,
      head: this.#head,
      places: places.map((listed) => {
        const { place, dependsOn, ...kept } = listed;
        const { repository: _repository, ...version } = place;
        const isOfCommit = dependsOn === "commits";
        return { ...version, ...kept, isOfCommit, stamp: stampOf(listed) };
      }),
      layout,
      rest: Buffer.byteLength(text),
    };
    try {
      writeCache(this.#path, `${JSON.stringify(header)}\n${text}`);
    } catch {
      // The next time it is made again.
    }
  }

  #isStale(place: KeptPlace, head: string | undefined): boolean {
    if (place.stamp === "" || (place.isOfCommit && head !== this.#head)) return true;
    return this.#fileStamp(place) !== place.stamp;
  }

  /** Empty if there is no such file, it cannot be reached, or was changed since a time. */
  #fileStamp({ path, side }: Pick<BriefPlace, "path" | "side">, before = Infinity): string {
    // It is in a commit, which does not change.
    if (side === "old") return side;
    if (before !== Infinity && this.#late.has(path)) return "";
    try {
      const found = lstatSync(`${this.#here.root}/${path}`, { throwIfNoEntry: false });
      if (found === undefined) return "";
      if (isChangedAfter(this.#began - UNCERTAIN, found)) this.#late.add(path);
      return stampOf(found, before);
    } catch {
      return "";
    }
  }

  /** Undefined if there is none, or it was changed since a time. */
  #storeStamp(before = Infinity): string | undefined {
    const options = { throwIfNoEntry: false } as const;
    const path = join(this.#data, REVIEWS_FILE);
    const [store, log] = [statSync(path, options), statSync(`${path}-wal`, options)];
    // Whoever reads SQLite's log first creates it empty.
    const isLogged = log !== undefined && log.size > 0;
    const stamps = [store, ...(isLogged ? [log] : [])].map((found) =>
      found === undefined ? "" : stampOf(found, before),
    );
    return stamps.includes("") ? undefined : stamps.join(" ");
  }
}

/** Whether nothing is missing of what is used. */
function isWhole(
  { threads, spaced }: ThreadTable,
  places: readonly ListedPlace[],
  stale: StalePlaces,
): boolean {
  let counted = 0;
  for (const { place, opened, count } of places) {
    if (typeof opened !== "string") return false;
    if ((stale.get(place)?.length ?? 3 * count) !== 3 * count) return false;
    counted += count;
  }
  return counted === threads && typeof spaced === "object";
}

/** In milliseconds, with some ten thousandths: as bigints, the times of hundreds of files take longer to read. */
type Times = Pick<Stats, "ino" | "size" | "mtimeMs" | "ctimeMs">;

/** Empty if it was changed since a time. */
function stampOf(found: Times, before: number): string {
  const { ino, size, mtimeMs, ctimeMs } = found;
  return isChangedAfter(before, found) ? "" : `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

function isChangedAfter(millisecond: number, { ctimeMs }: Pick<Times, "ctimeMs">): boolean {
  return ctimeMs >= millisecond + 1;
}

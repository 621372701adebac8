import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";

import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { VERSION } from "../../../base/version.ts";
import { blobId } from "../../../review/anchor/file-lines.ts";
import { writeCache } from "../../../review/anchor/position-cache.ts";
import { type FoundRepository, headCommit } from "../../../review/repository.ts";
import type { BriefPlace } from "../../../store/review/reviews-brief.ts";
import { REVIEWS_FILE } from "../../../store/store-files.ts";
import type { ListedThreads } from "./listed-threads.ts";
import type { ThreadTable } from "./thread-table.ts";

/** A shorter list is made faster than it is looked up. */
const LEAST = 200;
/** Bytes. */
const LARGEST = 32 * 1024 * 1024;
/** Milliseconds in which a file may be changed twice without a trace in its times. */
const UNCERTAIN = 2_000;

/** A version of a file that was commented on, and what the positions of its comments depend on. */
interface KeptPlace extends Omit<BriefPlace, "repository"> {
  /** Of the file; empty if its comments have to be looked for every time. */
  readonly stamp: string;
  readonly isOfCommit?: boolean;
}

/** The first line of the file. */
interface Header {
  readonly version: string;
  readonly all: boolean;
  readonly store: string;
  readonly head: string | undefined;
  readonly places: readonly KeptPlace[];
  /** Bytes after this line. Writing a cache does not wait for the disk, which may lose a part of it. */
  readonly rest: number;
}

/** The second line. The lines of the table follow. */
type Columns = Pick<ListedThreads, "opened"> & Omit<ThreadTable, "lines">;

export interface Kept {
  readonly list: ListedThreads;
  /** The places whose threads have to be looked for again. */
  readonly stale: ReadonlySet<BriefPlace>;
}

/**
 * The list of a repository as it was printed last. A position is used again for as long as the store and
 * the commented file are the same, which git, too, tells from their sizes and times, and the commit or
 * other files if it depends on them. It is a cache: whatever is wrong with its file costs
 * time and nothing else.
 */
export class KeptList {
  readonly #began = Date.now();
  readonly #data: string;
  readonly #here: FoundRepository;
  readonly #all: boolean;
  readonly #path: string;
  /** Read before the list is made, so that a list of the commit before is not kept for this one. */
  readonly #head: string | undefined;

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
      const places = header.places.map(({ path, side, blob, commit }) => {
        return { repository: { gitDir, root }, path, side, blob, commit };
      });
      const dependsOn = new Map(
        places.flatMap((place, at) => {
          return header.places[at]?.isOfCommit === true ? [[place, "commits"] as const] : [];
        }),
      );
      const [columns = "", ...lines] = file.toString("utf8", from).split("\n");
      const { opened, ...layout } = JSON.parse(columns) as Columns;
      const stale = places.filter((_, at) => this.#isStale(header.places[at], header.head));
      const list = { table: { lines, ...layout }, places, opened, dependsOn };
      return { list, stale: new Set(stale) };
    } catch {
      return undefined;
    }
  }

  /** `stale` has the places whose threads were looked for; by default all. */
  keep(list: ListedThreads, stale: ReadonlySet<BriefPlace> = new Set(list.places)): void {
    const { dependsOn, opened } = list;
    const { lines, ...layout } = list.table;
    if (lines.length < LEAST) return;
    const before = this.#began - UNCERTAIN;
    const store = this.#storeStamp(before);
    const places = list.places.map((place): KeptPlace => {
      const { repository: _repository, ...version } = place;
      const dependency = dependsOn.get(place);
      const stamp = dependency === "files" ? "" : this.#fileStamp(place, before);
      return { ...version, stamp, ...(dependency === "commits" && { isOfCommit: true }) };
    });
    const unkept = places.filter(({ stamp }) => stamp === "").length;
    // If nothing more is known than before, what is kept is as good.
    if (store === undefined || unkept >= stale.size) return;
    const columns: Columns = { opened, ...layout };
    const rest = `${JSON.stringify(columns)}\n${lines.join("\n")}`;
    const header: Header = {
      ...{ version: VERSION, all: this.#all, store, head: this.#head, places },
      rest: Buffer.byteLength(rest),
    };
    try {
      writeCache(this.#path, `${JSON.stringify(header)}\n${rest}`);
    } catch {
      // The next time it is made again.
    }
  }

  #isStale(place: KeptPlace | undefined, head: string | undefined): boolean {
    if (
      place === undefined ||
      place.stamp === "" ||
      (place.isOfCommit === true && head !== this.#head)
    )
      return true;
    return this.#fileStamp(place) !== place.stamp;
  }

  /** Empty if there is no such file, or it was changed since a time. */
  #fileStamp({ path, side }: Omit<KeptPlace, "stamp">, before = Infinity): string {
    // It is in a commit, which does not change.
    if (side === "old") return side;
    const options = { bigint: true, throwIfNoEntry: false } as const;
    const found = lstatSync(`${this.#here.root}/${path}`, options);
    return found === undefined ? "" : stampOf(found, before);
  }

  /** Undefined if there is none, or it was changed since a time. */
  #storeStamp(before = Infinity): string | undefined {
    const options = { bigint: true, throwIfNoEntry: false } as const;
    const path = join(this.#data, REVIEWS_FILE);
    const [store, log] = [statSync(path, options), statSync(`${path}-wal`, options)];
    // Whoever reads SQLite's log first creates it empty.
    const isLogged = log !== undefined && log.size > 0n;
    const stamps = [store, ...(isLogged ? [log] : [])].map((found) =>
      found === undefined ? "" : stampOf(found, before),
    );
    return stamps.includes("") ? undefined : stamps.join(" ");
  }
}

/** Empty if it was changed since a time. */
function stampOf(
  { ino, size, mtimeNs, ctimeNs }: Record<"ino" | "size" | "mtimeNs" | "ctimeNs", bigint>,
  before: number,
): string {
  return Number(ctimeNs / 1_000_000n) > before ? "" : `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

import { statSync } from "node:fs";
import { join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { VERSION } from "../../base/version.ts";
import { blobId } from "../../review/anchor/file-lines.ts";
import { writeCache } from "../../review/anchor/position-cache.ts";
import type { BriefView } from "../../review/brief-list.ts";
import { type FoundRepository, headCommit } from "../../review/repository.ts";
import { REVIEWS_FILE } from "../../store/store-files.ts";

/** A shorter list is made faster than it is looked up. */
const LEAST = 200;
/** Bytes. */
const LARGEST = 16 * 1024 * 1024;
/** Milliseconds in which a file may be changed twice without a trace in its times. */
const UNCERTAIN = 2_000;

/** What a printed list depends on. */
interface Stamp {
  readonly version: string;
  /** The options of the command. */
  readonly shape: unknown;
  readonly head: string | undefined;
  /** Characters of the list. Writing a cache does not wait for the disk, which may lose a part of it. */
  readonly length: number;
  /** The store, and the commented files by their paths in the repository. */
  readonly store: string;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * The list of a repository as it was printed last. It is printed again for as long as the store, the
 * commit that is checked out and the commented files are the same, which git, too, tells from their
 * sizes and times. It is a cache: whatever is wrong with its file costs time and nothing else.
 */
export class PrintedList {
  readonly #began = Date.now();
  readonly #data: string;
  readonly #here: FoundRepository;
  readonly #shape: unknown;
  readonly #path: string;
  /** Read before the list is made, so that a list of the commit before is not kept for this one. */
  readonly #head: string | undefined;

  /** `shape` is all that the command line says of the list. */
  constructor(data: string, here: FoundRepository, shape: unknown) {
    this.#data = data;
    this.#here = here;
    this.#shape = shape;
    this.#head = headCommit(here);
    this.#path = join(data, "positions", `${blobId(Buffer.from(here.root))}.list`);
  }

  /** Undefined if there is none, or something has changed. */
  read(): string | undefined {
    try {
      const text = readRegularFile(this.#path, { most: LARGEST })?.toString("utf8") ?? "";
      const end = text.indexOf("\n");
      const kept = text.slice(0, end);
      const { files } = JSON.parse(kept) as Stamp;
      const now = JSON.stringify(this.#stamp(text.length - end - 1, Object.keys(files)));
      return now === kept && !text.includes("\0") ? text.slice(end + 1) : undefined;
    } catch {
      return undefined;
    }
  }

  keep(text: string, threads: readonly BriefView[]): void {
    // A claim lapses with time, and a renamed file is looked for among all files.
    const isLasting = ({ state, file, original }: BriefView): boolean =>
      state !== "claimed" && (original === undefined || original.file === file);
    if (threads.length < LEAST || text.length > LARGEST || !threads.every(isLasting)) return;
    const files = new Set(threads.map(({ file }) => file));
    const stamp = this.#stamp(text.length, files, this.#began - UNCERTAIN);
    if (stamp === undefined) return;
    try {
      writeCache(this.#path, `${JSON.stringify(stamp)}\n${text}`);
    } catch {
      // The next time it is made again.
    }
  }

  /** Undefined if a file is missing, or was changed since a time. */
  #stamp(length: number, files: Iterable<string>, before = Infinity): Stamp | undefined {
    const store = join(this.#data, REVIEWS_FILE);
    const log = stampOf(`${store}-wal`, before);
    const main = stampOf(store, before);
    if (main === undefined || log === undefined) return undefined;
    const stamps: Record<string, string> = {};
    for (const path of files) {
      const stamp = stampOf(`${this.#here.root}/${path}`, before);
      if (stamp === undefined || stamp === "") return undefined;
      stamps[path] = stamp;
    }
    return {
      version: VERSION,
      shape: this.#shape,
      head: this.#head,
      length,
      store: `${main} ${log}`,
      files: stamps,
    };
  }
}

/** Empty if there is no such file, or nothing is in it; undefined if it was changed since a time. */
function stampOf(path: string, before: number): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  // Whoever reads SQLite's log first creates it empty.
  if (found === undefined || (found.size === 0n && path.endsWith("-wal"))) return "";
  const { ino, size, mtimeNs, ctimeNs } = found;
  if (Number(ctimeNs / 1_000_000n) > before) return undefined;
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

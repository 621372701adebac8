import { type BigIntStats, lstatSync, statSync } from "node:fs";
import { join } from "node:path";

import { readRegularFile } from "../base/file/read-regular-file.ts";
import { readIndexEntries } from "./index-entries.ts";

/** Bytes. Reading a larger index takes longer than reading the files. */
const LARGEST = 8 * 1024 * 1024;

/** The type bits of a mode. */
const TYPE = 0xf000;
const REGULAR = 0x8000;

/**
 * The blobs of unchanged files, as git's index has them. Like git, it trusts the index where the size and
 * times of a file are as they were when git read it, so that no file has to be read.
 */
export class IndexBlobs {
  readonly #root: string;
  readonly #index: Buffer;
  /** When the index was written, in nanoseconds. */
  readonly #written: bigint;
  readonly #entries: ReadonlyMap<string, number>;

  private constructor(root: string, index: Buffer, written: bigint) {
    this.#root = root;
    this.#index = index;
    this.#written = written;
    this.#entries = entriesOf(index);
  }

  /** The index of a work tree; undefined if there is none that can be used. */
  static open(root: string, worktreeGitDir: string): IndexBlobs | undefined {
    const path = join(worktreeGitDir, "index");
    try {
      // Before it is read: a later time would trust entries that an older one does not.
      const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
      const index = stat && readRegularFile(path, { most: LARGEST });
      if (stat === undefined || index === undefined) return undefined;
      return new IndexBlobs(root, index, stat.mtimeNs);
    } catch {
      return undefined;
    }
  }

  /** The blob of a file; undefined if the file has changed, or may have. */
  blobOf(path: string): string | undefined {
    const at = this.#entries.get(path);
    if (at === undefined) return undefined;
    const index = this.#index;
    const stat = this.#statOf(path);
    if (stat === undefined || (Number(stat.mode) & TYPE) !== REGULAR) return undefined;
    if ((index.readUInt32BE(at + 24) & TYPE) !== REGULAR) return undefined;
    const isSame =
      timeAt(index, at) === stat.ctimeNs &&
      timeAt(index, at + 8) === stat.mtimeNs &&
      index.readUInt32BE(at + 20) === Number(stat.ino & 0xffff_ffffn) &&
      index.readUInt32BE(at + 36) === Number(stat.size & 0xffff_ffffn);
    // A file that was changed as late as the index may have been changed after it, too.
    if (!isSame || stat.mtimeNs >= this.#written) return undefined;
    return index.toString("hex", at + 40, at + 60);
  }

  /** Undefined if there is no such file, or it cannot be reached: a folder may be a link to itself. */
  #statOf(path: string): BigIntStats | undefined {
    try {
      // Without `join`, which takes longer than asking the system.
      return lstatSync(`${this.#root}/${path}`, { bigint: true, throwIfNoEntry: false });
    } catch {
      return undefined;
    }
  }
}

function timeAt(index: Buffer, at: number): bigint {
  return BigInt(index.readUInt32BE(at)) * 1_000_000_000n + BigInt(index.readUInt32BE(at + 4));
}

/** Where the entry of each path begins. */
function entriesOf(index: Buffer): Map<string, number> {
  const entries = new Map<string, number>();
  readIndexEntries(index, (at, path, stage) => {
    if (stage === 0) entries.set(path.toString("utf8"), at);
  });
  return entries;
}

import * as fs from "node:fs";

import { attempt } from "../attempt.ts";
import { isInside, realPath } from "./path.ts";

export interface ReadRegularFileOptions {
  /** Bytes beyond which it is not read. */
  readonly most: number;
  /** False to refuse a symbolic link: whoever can create it chooses its target. */
  readonly followsLinks?: boolean;
  /**
   * The folders of the project that the file belongs to. It is not read if a link on its path leads out
   * of all of them. Leave it out only for files that nobody else can write.
   */
  readonly inside?: readonly string[];
}

export interface RegularFile {
  readonly content: Buffer;
  readonly mode: number;
}

/** Why a file that exists is not read. */
export class UnfitFileError extends Error {
  override readonly name = "UnfitFileError";
  /** Its size, if it is too large. */
  readonly size: number | undefined;

  constructor(message: string, size?: number) {
    super(message);
    this.size = size;
  }
}

/** The content of a file, read as by `regularFile`. */
export function readRegularFile(path: string, options: ReadRegularFileOptions): Buffer | undefined {
  return regularFile(path, options)?.content;
}

/**
 * Reads a file that somebody else may have put there; undefined where there is none. It need not be
 * what its name says: opening a pipe would wait for somebody to write to it, reading a device may
 * never end, a large file takes all memory, and a link may lead to any file that we may read. Those are
 * refused with an `UnfitFileError`.
 */
export function regularFile(
  path: string,
  { most, followsLinks = true, inside }: ReadRegularFileOptions,
): RegularFile | undefined {
  // Most of these files do not exist, and an exception for each costs milliseconds at every start.
  if (followsLinks && fs.statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = fs.constants;
  let file: number;
  try {
    file = fs.openSync(path, O_RDONLY | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP" && !followsLinks) throw new UnfitFileError("it is a link");
    // Such as a socket.
    if (code === "ENXIO") throw new UnfitFileError("it is not a regular file");
    throw error;
  }
  using ends = new DisposableStack();
  ends.defer(() => fs.closeSync(file));
  const stats = fs.fstatSync(file);
  if (inside !== undefined && !leadsInside(path, stats, inside)) {
    throw outside();
  }
  return { content: readOpened(file, stats, most), mode: stats.mode };
}

export function outside(): UnfitFileError {
  return new UnfitFileError("a link on its path leads out of the project");
}

/**
 * Whether an open file is in one of the folders. Programs may replace a folder by a link at any moment, so
 * what was opened is compared with what is found where the path leads now.
 */
export function leadsInside(path: string, opened: fs.Stats, folders: readonly string[]): boolean {
  const real = attempt(() => fs.realpathSync.native(path));
  if (real === undefined) return false;
  const found = fs.lstatSync(real, { throwIfNoEntry: false });
  return (
    folders.some((folder) => isInside(real, realPath(folder))) &&
    found?.ino === opened.ino &&
    found.dev === opened.dev
  );
}

function readOpened(file: number, stats: fs.Stats, most: number): Buffer {
  if (stats.isDirectory()) throw new UnfitFileError("it is a folder");
  if (!stats.isFile()) throw new UnfitFileError("it is not a regular file");
  if (stats.size > most) throw tooLarge(stats.size, most);
  const chunks: Buffer[] = [];
  let length = 0;
  // It may grow while it is read, and virtual files have no size.
  for (let room = stats.size + 1; ; room = 64 * 1024) {
    const chunk = Buffer.allocUnsafe(room);
    const read = fs.readSync(file, chunk, 0, room, null);
    if (read === 0) break;
    chunks.push(chunk.subarray(0, read));
    length += read;
    if (length > most) throw tooLarge(length, most);
    // A regular file gives less than was asked for at its end only.
    if (length === stats.size && read < room) break;
  }
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
}

function tooLarge(size: number, most: number): UnfitFileError {
  return new UnfitFileError(`its ${size} bytes are over the limit of ${most}`, size);
}

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";

export interface ReadRegularFileOptions {
  /** Bytes beyond which it is not read. */
  readonly most: number;
  /** False where a link in its place is as good as no file: whoever can place it chooses where to. */
  readonly followsLinks?: boolean;
}

/** Why something that is there is not read. */
export class UnfitFileError extends Error {
  override readonly name = "UnfitFileError";
}

/**
 * Reads a file that somebody else may have put there; undefined where there is none. It need not be
 * what its name says: opening a pipe would wait for somebody to write to it, reading a device may
 * never end, and a large file takes all memory. Those are refused.
 */
export function readRegularFile(
  path: string,
  { most, followsLinks = true }: ReadRegularFileOptions,
): Buffer | undefined {
  // Mostly there is none, and finding that out by an exception costs milliseconds at every start.
  if (followsLinks && statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP" && !followsLinks) throw new UnfitFileError("it is a link");
    // Such as a socket.
    if (code === "ENXIO") throw new UnfitFileError("it is not a regular file");
    throw error;
  }
  try {
    return readOpened(file, most);
  } finally {
    closeSync(file);
  }
}

function readOpened(file: number, most: number): Buffer {
  const stats = fstatSync(file);
  if (stats.isDirectory()) throw new UnfitFileError("it is a folder");
  if (!stats.isFile()) throw new UnfitFileError("it is not a regular file");
  if (stats.size > most) throw tooLarge(stats.size, most);
  const chunks: Buffer[] = [];
  let length = 0;
  // It may grow while it is read, and what the system makes up has no size.
  for (let room = stats.size + 1; ; room = 64 * 1024) {
    const chunk = Buffer.allocUnsafe(room);
    const read = readSync(file, chunk, 0, room, null);
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
  return new UnfitFileError(`its ${size} bytes are over the limit of ${most}`);
}

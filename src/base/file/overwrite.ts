import { constants, readlinkSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";

import { realPath } from "./path.ts";
import { leadsInside, outside, UnfitFileError } from "./read-regular-file.ts";

/**
 * Writes a file that belongs to somebody else, all of it or nothing if the disk is full. It stays the
 * same file, with its hard links, owner and mode. The path was checked before and had no symbolic link:
 * the file is not written if it has one now, even one into the folders `inside`, such as to `.git`.
 */
export async function writeOver(
  path: string,
  content: string | Buffer,
  inside: readonly string[],
): Promise<void> {
  const { isNew, file } = await openOver(path);
  const stats = await file.stat();
  const isThere = leadsInside(path, stats, inside) && placeOf(file, path) === path;
  if (!stats.isFile() || !isThere) {
    await file.close();
    throw stats.isFile() ? outside() : noFile();
  }
  try {
    await using _ = file;
    await overwrite(file, content);
  } catch (error) {
    if (isNew) await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

/** The path of an open file. The kernel knows it, even if a program has replaced the path meanwhile. */
function placeOf({ fd }: FileHandle, path: string): string {
  return process.platform === "linux" ? readlinkSync(`/proc/self/fd/${fd}`) : realPath(path);
}

/**
 * Replaces the content of an open file. Only the part by which the file grows needs room on the disk, so
 * that part is written first: if it fails, the file is unchanged.
 */
export async function overwrite(file: FileHandle, content: string | Buffer): Promise<void> {
  const bytes = Buffer.from(content as string);
  const { size } = await file.stat();
  try {
    await writeAt(file, bytes.subarray(size), size);
  } catch (error) {
    await file.truncate(size).catch(() => {});
    throw error;
  }
  await writeAt(file, bytes.subarray(0, size), 0);
  await file.truncate(bytes.length);
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

async function openOver(path: string): Promise<{ isNew: boolean; file: FileHandle }> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return { isNew: true, file: await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o666) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  try {
    return { isNew: false, file: await open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK) };
  } catch (error) {
    // A pipe that nobody reads, or a socket.
    if ((error as NodeJS.ErrnoException).code === "ENXIO") throw noFile();
    throw error;
  }
}

function noFile(): UnfitFileError {
  return new UnfitFileError("it is not a regular file");
}

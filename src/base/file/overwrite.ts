import * as fs from "node:fs";

import { attempt } from "../attempt.ts";
import { realPath } from "./path.ts";
import { leadsInside, outside, UnfitFileError } from "./read-regular-file.ts";

/** The content that a file must have to be overwritten; undefined if there must be no file. */
export interface ExpectedContent {
  readonly content: Buffer | undefined;
}

/** Somebody else has changed the file. */
export class ChangedFileError extends UnfitFileError {}

/**
 * Writes a file that belongs to somebody else, all of it or nothing if the disk is full. It stays the
 * same file, with its hard links, owner and mode. The path was checked before and had no symbolic link:
 * the file is not written if it has one now, even one into the folders `inside`, such as to `.git`.
 *
 * With `expected`, throws `ChangedFileError` if the file holds something else. Nothing of this program
 * runs between that check and the write. No file system can do both in one step, so what another program
 * writes in these microseconds is lost; one that replaces the file in them keeps its text, and this throws.
 */
export function writeOver(
  path: string,
  content: string | Buffer,
  inside: readonly string[],
  expected?: ExpectedContent,
): void {
  const { isNew, file } = openOver(path, expected !== undefined);
  const isThere = (): boolean =>
    leadsInside(path, fs.fstatSync(file), inside) && placeOf(file, path) === path;
  try {
    if (!fs.fstatSync(file).isFile()) throw noFile();
    if (!isThere()) throw outside();
    if (expected !== undefined && !isAsExpected(file, isNew, expected)) throw changed();
    overwrite(file, content);
    if (expected !== undefined && !isThere()) throw changed();
  } catch (error) {
    // Removes our own new file only, not one that has replaced it.
    if (isNew && isThere()) fs.rmSync(path, { force: true });
    throw error;
  } finally {
    fs.closeSync(file);
  }
}

function isAsExpected(file: number, isNew: boolean, { content }: ExpectedContent): boolean {
  if (isNew || content === undefined) return isNew && content === undefined;
  return fs.readFileSync(file).equals(content);
}

/** The path of an open file. The kernel knows it, even if a program has replaced the path meanwhile. */
function placeOf(file: number, path: string): string {
  return process.platform === "linux" ? fs.readlinkSync(`/proc/self/fd/${file}`) : realPath(path);
}

/**
 * Replaces the content of an open file. Only the part by which the file grows needs room on the disk, so
 * that part is written first: if it fails, the file is unchanged.
 */
export function overwrite(file: number, content: string | Buffer): void {
  const bytes = Buffer.from(content as string);
  const { size } = fs.fstatSync(file);
  try {
    writeAt(file, bytes.subarray(size), size);
  } catch (error) {
    // The first error says why.
    attempt(() => fs.ftruncateSync(file, size));
    throw error;
  }
  writeAt(file, bytes.subarray(0, size), 0);
  fs.ftruncateSync(file, bytes.length);
}

function writeAt(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length;) {
    const rest = bytes.subarray(done);
    done += fs.writeSync(file, rest, 0, rest.length, position + done);
  }
}

function openOver(path: string, reads: boolean): { isNew: boolean; file: number } {
  const { O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const access = reads ? O_RDWR : O_WRONLY;
  try {
    return { isNew: true, file: fs.openSync(path, access | O_CREAT | O_EXCL, 0o666) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  try {
    return { isNew: false, file: fs.openSync(path, access | O_NOFOLLOW | O_NONBLOCK) };
  } catch (error) {
    // A pipe that nobody reads, or a socket.
    if ((error as NodeJS.ErrnoException).code === "ENXIO") throw noFile();
    throw error;
  }
}

function noFile(): UnfitFileError {
  return new UnfitFileError("it is not a regular file");
}

function changed(): ChangedFileError {
  return new ChangedFileError("somebody else has changed it");
}

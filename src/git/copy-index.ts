import { copyFile, stat, utimes } from "node:fs/promises";

import { UnfitFileError } from "../base/file/read-regular-file.ts";

/**
 * Copies git's index, with its time. With the times of files in the index, git reads only the files that
 * have changed. A file with the same time as the index is read too, since it may have changed afterwards
 * (git's "racy" entries), so the copy must not be newer. Whole seconds are enough for git, and safe.
 */
export async function copyIndex(from: string, to: string): Promise<void> {
  const stats = await stat(from);
  // Opening a pipe would block forever.
  if (!stats.isFile()) throw new UnfitFileError("it is not a regular file");
  await copyFile(from, to);
  const second = Math.floor(stats.mtimeMs / 1000);
  await utimes(to, second, second);
}

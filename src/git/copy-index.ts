import { copyFile, stat, utimes } from "node:fs/promises";

/**
 * Copies git's index, with its time. With the times of files in the index, git reads only the files that
 * have changed. A file with the same time as the index is read too, since it may have changed afterwards
 * (git's "racy" entries), so the copy must not be newer. Whole seconds are enough for git, and safe.
 */
export async function copyIndex(from: string, to: string): Promise<void> {
  const { mtimeMs } = await stat(from);
  await copyFile(from, to);
  const second = Math.floor(mtimeMs / 1000);
  await utimes(to, second, second);
}

import { open, rename, rm } from "node:fs/promises";

import { fileWords, TrunklineError } from "../base/errors.ts";
import { FileLock } from "./file-lock.ts";

/** Replaces a file atomically. Only its owner can read it. */
export async function replaceFile(path: string, text: string | Buffer): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    {
      await using file = await open(temporary, "wx", 0o600);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    const why = fileWords(error, path);
    throw new TrunklineError("config", `Cannot write '${path}': ${why}`, { cause: error });
  }
}

/** Runs work while holding a file lock, which excludes other processes. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  // Loaded on demand: SQLite is needed only for writing.
  using _lock = await FileLock.take(path);
  return await work();
}

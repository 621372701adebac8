import { open, rename, rm } from "node:fs/promises";

import { TrunklineError } from "../base/errors.ts";

/** Puts a text in a file's place, whole or not at all, for its owner's eyes only. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    {
      await using file = await open(temporary, "wx", 0o600);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    const { message } = error as Error;
    throw new TrunklineError("config", `Cannot write '${path}': ${message}`, { cause: error });
  }
}

/** Does something that no other process does at the same time under the same lock file. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  // Only who changes something waits for SQLite to be loaded.
  const { FileLock } = await import("./file-lock.ts");
  using _lock = await FileLock.take(path);
  return await work();
}

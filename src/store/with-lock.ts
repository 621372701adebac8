/** Does something that no other process does at the same time under the same lock file. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  // Only who changes something waits for SQLite to be loaded.
  const { FileLock } = await import("./file-lock.ts");
  using _lock = await FileLock.take(path);
  return await work();
}

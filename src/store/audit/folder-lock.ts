import { mkdirSync, rmSync, statSync } from "node:fs";

/** Milliseconds after which the process that holds a lock was killed: renaming takes no time. */
const LOCK_AGE = 10_000;

/** Creates a folder that stands for a lock. False if somebody else has it. */
export function tryLock(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
  // The next attempt takes it.
  if (age > LOCK_AGE) rmSync(path, { recursive: true, force: true });
  return false;
}

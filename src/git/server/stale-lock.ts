import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** As git says that another git is at it. */
const LOCKED = /Unable to create '([^'\n]+\.lock)': File exists/;
/**
 * Milliseconds after which a lock belongs to nobody: our watchdog ends the git of a server that was
 * killed within two seconds, and of the gits of one server only one at a time writes to a folder.
 */
const ABANDONED = 4_000;

/** The lock of a git folder of ours that a call ran into, by what git said. */
export function lockIn(gitDir: string, stderr: string): string | undefined {
  const path = LOCKED.exec(stderr)?.[1];
  if (path === undefined) return undefined;
  const lock = resolve(path);
  return lock.startsWith(resolve(gitDir) + sep) ? lock : undefined;
}

/** Waits until a lock is gone, or removes it where nobody can have it any more. */
export async function passLock(lock: string, abandoned = ABANDONED): Promise<void> {
  const giveUp = performance.now() + abandoned;
  while (existsSync(lock) && performance.now() < giveUp) await delay(20);
  await rm(lock, { force: true });
}

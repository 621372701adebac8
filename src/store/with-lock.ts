import { open, rm, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../base/errors.ts";

/** Far more than the work under any lock of ours takes: whoever held it so long is dead. */
const ABANDONED = 5_000;
const LONGEST_WAIT = 10_000;

/** Does something that no other process does at the same time under the same lock file. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await take(path);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<void> {
  const giveUpAt = Date.now() + LONGEST_WAIT;
  for (;;) {
    try {
      await (await open(path, "wx", 0o600)).close();
      return;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "EEXIST" || Date.now() > giveUpAt) {
        const why = code === "EEXIST" ? "another process holds it" : message;
        throw new TrunklineError("unavailable", `Cannot lock '${path}': ${why}`, { cause: error });
      }
    }
    if (await isAbandoned(path)) await rm(path, { force: true });
    else await delay(5 + Math.random() * 20);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > ABANDONED;
  } catch {
    return false;
  }
}

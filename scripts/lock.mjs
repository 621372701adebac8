import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const BEAT_MS = 1_000;
const STALE_MS = 15_000;
const RETRY_MS = 200;

/**
 * Runs `work` while no other process holds the lock of the same folder. `waiting` is called once if
 * another process holds it.
 *
 * The lock is the folder with one file in it, named for its owner. A stale lock is broken by deleting
 * exactly the file that was found stale, then the folder, which is removed only while it is empty. So a
 * lock that another process took in between cannot be broken.
 */
export async function withLock(folder, work, waiting = () => {}) {
  const owner = join(folder, `${hostname()}.${process.pid}.${randomUUID()}`);
  for (let tries = 0; !acquire(folder, owner); tries += 1) {
    if (tries === 1) waiting();
    breakStale(folder);
    await sleep(RETRY_MS);
  }
  const beat = setInterval(() => attempt(() => utimesSync(owner, new Date(), new Date())), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    attempt(() => unlinkSync(owner));
    attempt(() => rmdirSync(folder));
  }
}

function acquire(folder, owner) {
  mkdirSync(dirname(folder), { recursive: true });
  return attempt(() => {
    mkdirSync(folder);
    // Fails if another process found the folder empty and removed it; then the lock is not ours.
    writeFileSync(owner, "", { flag: "wx" });
  });
}

function breakStale(folder) {
  attempt(() => {
    for (const name of readdirSync(folder)) {
      if (isStale(folder, name)) attempt(() => unlinkSync(join(folder, name)));
    }
    rmdirSync(folder);
  });
}

function isStale(folder, name) {
  const pid = Number(name.split(".").at(-2));
  if (name.startsWith(`${hostname()}.`) && !isRunning(pid)) return true;
  return Date.now() - statSync(join(folder, name)).mtimeMs > STALE_MS;
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Whether a file operation succeeded; losing a race is not an error. */
function attempt(operation) {
  try {
    operation();
    return true;
  } catch (error) {
    if (["EEXIST", "ENOENT", "ENOTEMPTY"].includes(error.code)) return false;
    throw error;
  }
}

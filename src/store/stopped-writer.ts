import { readFileSync, statSync } from "node:fs";

import { processOf } from "../base/process/process-table.ts";

/** The byte of the file `-shm` whose lock a writer has (SQLite, "WAL-mode File Format" § 2.3.1). */
const WRITE_LOCK = 120;

/**
 * A process that was stopped, as by SIGSTOP, in the middle of a change. It keeps its lock, so nobody else
 * can change the file. It is woken to finish, and stopped again by whoever has the lock then.
 */
export class StoppedWriter {
  readonly #pid: number;

  private constructor(pid: number) {
    this.#pid = pid;
  }

  /** Wakes the stopped process that keeps others from changing a database; undefined if there is none. */
  static wake(path: string): StoppedWriter | undefined {
    try {
      const { ino } = statSync(`${path}-shm`);
      // proc_locks(5): number, class, kind, access, process, device and inode, first and last byte.
      const locks = readFileSync("/proc/locks", "utf8").split("\n");
      const lock = locks
        .map((line) => line.trim().split(/\s+/))
        .find(([, , , access, , file, first]) => {
          return access === "WRITE" && file?.endsWith(`:${ino}`) && first === String(WRITE_LOCK);
        });
      const pid = Number(lock?.[4]);
      if (processOf(pid)?.isStopped !== true) return undefined;
      process.kill(pid, "SIGCONT");
      return new StoppedWriter(pid);
    } catch {
      // Only Linux lists locks, and the process may be another user's.
      return undefined;
    }
  }

  stopAgain(): void {
    try {
      process.kill(this.#pid, "SIGSTOP");
    } catch {
      // It has ended.
    }
  }
}

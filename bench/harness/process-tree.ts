import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { cpuTime } from "./cpu-time.ts";
import { proportionalSize } from "./resident-size.ts";

/** A process and all of its descendants. */
export function processTree(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    return text.split(" ").filter((word) => word !== "");
  });
  return [pid, ...children.map(Number).flatMap(processTree)];
}

/** The same of a process that may have ended, and whose descendants come and go. */
export function livingTree(pid: number): number[] {
  if (!isRunning(pid)) return [];
  try {
    return processTree(pid);
  } catch {
    // One of them ended while we looked.
    return livingTree(pid);
  }
}

/** Ends processes, and waits until they have ended. */
export async function endAll(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    while (isRunning(pid)) {
      kill(pid);
      await delay(1);
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Only Linux tells. A dead process that nobody waits for is none. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** Microseconds of CPU that they have used so far. */
export function cpuTimeOfTrees(pids: readonly number[]): number {
  return sum(pids, cpuTime);
}

/** Kilobytes of their memory, what they share counted once. */
export function proportionalSizeOfTrees(pids: readonly number[]): number {
  return sum(pids, proportionalSize);
}

function sum(pids: readonly number[], measure: (pid: number) => number): number {
  return pids.flatMap(processTree).reduce((total, pid) => total + measure(pid), 0);
}

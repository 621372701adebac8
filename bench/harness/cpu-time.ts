import { readdirSync, readFileSync } from "node:fs";

/**
 * Microseconds of CPU that a process has used so far, in all its threads. Unlike elapsed time it does
 * not include what other programs of the machine use.
 */
export function cpuTime(pid: number): number {
  const folder = `/proc/${pid}/task`;
  let nanoseconds = 0;
  for (const thread of readdirSync(folder)) nanoseconds += threadTime(`${folder}/${thread}`);
  return nanoseconds / 1000;
}

function threadTime(folder: string): number {
  try {
    return Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ", 1)[0]);
  } catch (error) {
    // A thread may end between listing and reading it.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}

/** Long enough for a program to load what it defers until after its first answer. */
const QUIET_MS = 30;

/** Resolves with the CPU time used, once a process has used none for a while. */
export async function cpuTimeWhenQuiet(pid: number): Promise<number> {
  let before = -1;
  let now = cpuTime(pid);
  while (now !== before) {
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    before = now;
    now = cpuTime(pid);
  }
  return now;
}

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

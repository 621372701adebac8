import { readFileSync } from "node:fs";

/** Kilobytes of resident memory of a process. */
export function residentSize(pid: number): number {
  // This file is exact; the others in /proc are updated only roughly.
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const found = /^Rss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  if (found === undefined) throw new Error(`Cannot read the size of process ${pid}`);
  return Number(found);
}

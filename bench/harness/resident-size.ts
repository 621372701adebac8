import { readFileSync } from "node:fs";

/** Kilobytes of memory that a process has in RAM. */
export function residentSize(pid: number): number {
  // Of the places that tell it, the one that is counted when asked, not kept roughly.
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const found = /^Rss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  if (found === undefined) throw new Error(`Cannot read the size of process ${pid}`);
  return Number(found);
}

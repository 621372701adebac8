import { readFileSync } from "node:fs";

/** Kilobytes of resident memory of a process. */
export function residentSize(pid: number): number {
  return sizeOf(pid, "Rss");
}

/** The same, with what it shares with other processes divided among these. */
export function proportionalSize(pid: number): number {
  return sizeOf(pid, "Pss");
}

function sizeOf(pid: number, kind: "Rss" | "Pss"): number {
  // This file is exact; the others in /proc are updated only roughly.
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const found = new RegExp(`^${kind}:\\s+(\\d+) kB$`, "m").exec(rollup)?.[1];
  if (found === undefined) throw new Error(`Cannot read the size of process ${pid}`);
  return Number(found);
}

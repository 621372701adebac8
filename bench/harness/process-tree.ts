import { readdirSync, readFileSync } from "node:fs";
import { cpuTime } from "./cpu-time.ts";
import { proportionalSize, residentSize } from "./resident-size.ts";

/** A process and all of its descendants. */
export function processTree(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    return text.split(" ").filter((word) => word !== "");
  });
  return [pid, ...children.map(Number).flatMap(processTree)];
}

/** Microseconds of CPU that they have used so far. */
export function cpuTimeOfTrees(pids: readonly number[]): number {
  return sum(pids, cpuTime);
}

/** Kilobytes of their resident memory. */
export function residentSizeOfTrees(pids: readonly number[]): number {
  return sum(pids, residentSize);
}

/** Kilobytes of their memory, what they share counted once. */
export function proportionalSizeOfTrees(pids: readonly number[]): number {
  return sum(pids, proportionalSize);
}

function sum(pids: readonly number[], measure: (pid: number) => number): number {
  return pids.flatMap(processTree).reduce((total, pid) => total + measure(pid), 0);
}

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

interface Running {
  readonly pid: number;
  readonly command: string;
}

/** What runs with that folder as its home. Only Linux tells; elsewhere it is nobody. */
export function runningAt(home: string): Running[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
      if (!environment.includes(`HOME=${home}`)) return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
      return [{ pid, command }];
    } catch {
      // It ended while we looked, or is not ours.
      return [];
    }
  });
}

/** Waits until nothing is left that runs there. */
export async function gone(home: string): Promise<void> {
  const giveUp = performance.now() + 10_000;
  for (;;) {
    const left = runningAt(home);
    if (left.length === 0) return;
    assert.ok(performance.now() < giveUp, `still running: ${JSON.stringify(left)}`);
    await sleep(20);
  }
}

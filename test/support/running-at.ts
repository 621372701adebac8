import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { processesWhere, type Running } from "./processes.ts";

/** What runs with that folder as its home. Only Linux tells; elsewhere it is nobody. */
export function runningAt(home: string): Running[] {
  return processesWhere(({ environment }) => environment.includes(`HOME=${home}`));
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

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** Waits until nobody is left in a process group; a killed process may still have to be buried. */
export async function groupEnd(group: number): Promise<void> {
  assert.ok(group > 1);
  const giveUp = performance.now() + 10_000;
  while (isAlive(group)) {
    assert.ok(performance.now() < giveUp, `somebody is left in the group ${group}`);
    await sleep(5);
  }
}

function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

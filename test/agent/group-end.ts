import assert from "node:assert/strict";

import { until } from "../support/until.ts";

/** Waits until nobody is left in a process group; a killed process may still have to be buried. */
export async function groupEnd(group: number): Promise<void> {
  assert.ok(group > 1);
  await until(() => !isAlive(group));
}

function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

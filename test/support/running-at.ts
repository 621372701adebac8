import { processesWhere, type Running } from "./processes.ts";
import { until } from "./until.ts";

/** What runs with that folder as its home. Only Linux tells; elsewhere it is nobody. */
export function runningAt(home: string): Running[] {
  return processesWhere(({ environment }) => environment.includes(`HOME=${home}`));
}

/** Waits until nothing is left that runs there. */
export async function gone(home: string): Promise<void> {
  await until(() => runningAt(home).length === 0);
}

import { existsSync } from "node:fs";

import type { Log } from "../../base/log.ts";
import { journalPath } from "./journal-path.ts";

/**
 * Repairs a switch that a crash interrupted. The start does not wait for it; a switch that starts
 * meanwhile waits for the same lock.
 */
export function repairIdentities(data: string, log: Log): AsyncDisposable {
  const repaired = repair(data, log).catch((error: unknown) => {
    log.warn("identity.unrepaired", { error });
  });
  return { [Symbol.asyncDispose]: () => repaired };
}

async function repair(data: string, log: Log): Promise<void> {
  // Let the start finish its own work first.
  await new Promise(setImmediate);
  if (!existsSync(journalPath(data))) return;
  const { Journal } = await import("./journal.ts");
  const { recoverIfNeeded } = await import("./recover.ts");
  const recovery = await recoverIfNeeded(new Journal(data));
  if (recovery !== undefined) log.warn("identity.repaired", { says: recovery.says });
}

import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Log } from "../../base/log.ts";

export function journalPath(data: string): string {
  return join(data, "identity", "journal.jsonl");
}

/**
 * Repairs a switch that a crash interrupted. The start does not wait for it; a switch that starts
 * meanwhile waits for the same lock. A start that finds no journal does not load its code.
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
  const { recoverIfNeeded } = await import("./apply.ts");
  const recovery = await recoverIfNeeded(new Journal(data));
  if (recovery !== undefined) log.warn("identity.repaired", { says: recovery.says });
}

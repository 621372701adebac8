import { existsSync } from "node:fs";

import { journalPath } from "./journal-path.ts";
import type { House } from "../../gateway/house.ts";

/**
 * Repairs a switch that a crash broke off: beside the start, which does not wait for it. Whoever
 * switches meanwhile does so after it, for both take the same lock.
 */
export function repairIdentities(house: House): AsyncDisposable {
  const repaired = repair(house).catch((error: unknown) => {
    house.log.warn("identity.unrepaired", { error });
  });
  return { [Symbol.asyncDispose]: () => repaired };
}

async function repair({ config: { data }, log }: House): Promise<void> {
  // What the start itself has to do comes first.
  await new Promise(setImmediate);
  if (!existsSync(journalPath(data))) return;
  const { Journal } = await import("./journal.ts");
  const { recoverIfNeeded } = await import("./recover.ts");
  const recovery = await recoverIfNeeded(new Journal(data));
  if (recovery !== undefined) log.warn("identity.repaired", { says: recovery.says });
}

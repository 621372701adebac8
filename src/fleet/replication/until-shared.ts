import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { isPending, SHARED_FILE, SharedBase, type SharedPart } from "./shared-base.ts";

/** Milliseconds that a person waits at most. */
const PATIENCE = 1_500;

/**
 * Waits until the other nodes of a fleet have been told of a row that was made or deleted in a data
 * folder. False if that takes too long: the process that tells them does not run, or cannot reach NATS.
 * It will be told later. True at once where the folder belongs to no fleet.
 */
export async function untilShared(
  data: string,
  row: {
    readonly part: SharedPart;
    readonly kind: string;
    readonly key: string;
    readonly isThere: boolean;
  },
  patience = PATIENCE,
): Promise<boolean> {
  if (!existsSync(join(data, SHARED_FILE))) return true;
  const { part, kind, key, isThere } = row;
  const giveUpAt = performance.now() + patience;
  using base = await SharedBase.open(data, part);
  for (;;) {
    const entry = (await base.entries(kind, [key])).get(key);
    const isKnown = entry !== undefined && entry.local !== "";
    if (isThere ? isKnown && !isPending(entry) : !isKnown) return true;
    if (performance.now() > giveUpAt) return false;
    await delay(50);
  }
}

import { setTimeout as delay } from "node:timers/promises";

import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import type { SharedSessions } from "./session-sharing.ts";

/** Milliseconds between two looks. */
const EVERY = 60_000;

export interface ForgetDeletedOptions {
  readonly deleted: NonNullable<SharedSessions["deletedElsewhere"]>;
  /** Removes the data of a session that this machine has beside its events. */
  readonly forget: (id: string, run: unknown) => Promise<unknown>;
  readonly log: Log;
  readonly every?: number;
}

/**
 * Removes what this machine has of sessions that were deleted while other nodes had them open, until it is
 * disposed of.
 */
export function forgetDeleted(options: ForgetDeletedOptions): AsyncDisposable {
  const { deleted, forget, log, every = EVERY } = options;
  const over = new AbortController();
  const { signal } = over;
  const look = async (): Promise<void> => {
    for await (const { id, run, drop } of deleted()) {
      if (signal.aborted) return;
      await forget(id, run);
      await drop();
    }
  };
  const lookAgain = async (): Promise<void> => {
    while (!signal.aborted) {
      await look().catch((error: unknown) => {
        if (!signal.aborted) log.warn("session.not-forgotten", { error });
      });
      await delay(every, undefined, { signal, ref: false }).catch(() => {});
    }
  };
  const work = lookAgain();
  background(work, "Forgetting sessions that were deleted elsewhere");
  return {
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await work;
    },
  };
}

import { setTimeout as delay } from "node:timers/promises";

import type { Sessions } from "../sessions.ts";
import type { SessionClient } from "../client/client.ts";

/** Milliseconds between two looks at which turns have ended. */
const LOOK_EVERY = 100;

/** A client of another process, and how its connection is ended. */
export interface ServedClient {
  readonly client: SessionClient;
  readonly leave: () => void;
}

/**
 * Closes all sessions, each when its turn has ended. A client whose sessions are all idle is disconnected
 * first: its own process then opens them elsewhere, and asks again what was not answered.
 */
export async function drainSessions(
  sessions: Sessions,
  served: ReadonlySet<ServedClient>,
): Promise<void> {
  for (;;) {
    for (const { client, leave } of served) {
      const used = sessions.all.filter((session) => session.isAttached(client));
      if (!used.some(({ isRunning }) => isRunning)) leave();
    }
    const idle = sessions.all.filter(
      (session) =>
        !session.isRunning && !served.values().some(({ client }) => session.isAttached(client)),
    );
    await Promise.allSettled(idle.map(({ id }) => sessions.close(id)));
    if (sessions.size === 0 && served.size === 0) return;
    await delay(LOOK_EVERY);
  }
}

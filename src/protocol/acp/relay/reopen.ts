import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../../base/errors.ts";
import { holderOf, isSilent } from "../../../session/session-error.ts";
import { METHODS, ours } from "../methods.ts";
import type { Joined, SessionLink } from "./session-link.ts";
import type { LinkedClient } from "./session-links.ts";

export interface ReopenOptions {
  readonly client: Pick<LinkedClient, "takeOver" | "depose">;
  /** Milliseconds within which it must be open again somewhere. */
  readonly within: number;
  /** Whether the client waits for it. */
  readonly isAwaited: () => boolean;
  /** The client has left. */
  readonly isClosed: () => boolean;
  readonly linkTo: (holder: string) => Promise<SessionLink>;
}

const RETRY = 50;

/**
 * Opens a session again whose holder has ended or does not answer, here or in another process that was
 * faster. Resolves to whether it is open here.
 */
export async function reopen(
  sessionId: string,
  joined: Joined,
  options: ReopenOptions,
): Promise<boolean> {
  const { within, isAwaited, isClosed } = options;
  let until = performance.now() + within;
  const silent = new Set<string>();
  for (;;) {
    try {
      return await reopenOnce(sessionId, joined, options);
    } catch (error) {
      const { silent: holder } = joined;
      if (holder !== undefined && !silent.has(holder)) {
        silent.add(holder);
        until = performance.now() + within;
      }
      const isEarly = error instanceof TrunklineError && error.code === "unavailable";
      // Its agent may be one that was ended too, and whose end was not noticed yet.
      if ((!isEarly && isAwaited()) || isClosed() || performance.now() > until) throw error;
    }
    await delay(RETRY);
  }
}

async function reopenOnce(
  sessionId: string,
  joined: Joined,
  options: ReopenOptions,
): Promise<boolean> {
  const { client, linkTo } = options;
  const { last } = joined;
  const params = { ...joined.params, sessionId };
  try {
    await client.takeOver(params, last);
    return true;
  } catch (error) {
    const holder = holderOf(error);
    if (holder === undefined) throw error;
    if (holder === joined.silent) {
      joined.silent = undefined;
      await client.depose(sessionId, holder);
      return await reopenOnce(sessionId, joined, options);
    }
    // Another process was faster, or the end of the previous holder was not noticed yet.
    const _meta = { ...params._meta, trunkline: { ...ours(params._meta), after: last } };
    try {
      const link = await linkTo(holder);
      joined.link = link;
      // If this holder ends too, before it has answered, we only try again.
      joined.isIn = false;
      await link.request(METHODS.resumeSession.name, { ...params, _meta }, () => {
        joined.isIn = true;
      });
      return false;
    } catch (lost) {
      if (isSilent(lost)) joined.silent = holder;
      throw lost;
    }
  }
}

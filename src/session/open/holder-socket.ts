import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import { HOLDERS, socketIn } from "../../store/holder.ts";
import type { Channel, ChannelLimits } from "../../wire/channel.ts";
import { mustNamePrincipal, type PrincipalGreeting } from "../../wire/channel/greeting.ts";
import { ProcessSocket, reachProcess } from "./process-socket.ts";
import type { ServeProcess } from "./session-sharing.ts";

export interface HolderSocketOptions {
  readonly data: string;
  /** The id of this process. */
  readonly holder: string;
  readonly limits: Partial<ChannelLimits>;
  readonly log: Log;
  readonly serve: ServeProcess;
}

/** Serves the sessions that this process has open to other processes of the same user. */
export async function openHolderSocket(options: HolderSocketOptions): Promise<AsyncDisposable> {
  const { data, holder, limits, log, serve } = options;
  return await ProcessSocket.open<PrincipalGreeting>({
    data,
    path: socketIn(join(data, HOLDERS), holder),
    limits,
    log,
    welcome: mustNamePrincipal,
    serve: (channel, { principal }) => serve(channel, principal),
  });
}

/**
 * Connects to the process that has a session open. Rejects with "unavailable" if it cannot be reached.
 * It need not have answered: whether it still does, the heartbeat of the link finds out.
 */
export async function reachHolder(
  data: string,
  holder: string,
  principal: Principal,
): Promise<Channel<string>> {
  const path = socketIn(join(data, HOLDERS), holder);
  try {
    const { channel } = await reachProcess({ data, path, greeting: { principal } });
    return channel;
  } catch (error) {
    const [pid] = holder.split("-");
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("unavailable", `Cannot reach process ${pid}: ${why}.`, {
      cause: error,
    });
  }
}

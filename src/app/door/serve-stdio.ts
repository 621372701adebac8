import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";
import type { AppContext } from "../../config/app-context.ts";
import { untilOver } from "./until-over.ts";

/** Serves one conversation on the standard streams, until the other side or a signal ends it. */
export async function serveStdio<S>(
  app: AppContext,
  state: S,
  door: PeerOptions<S>,
): Promise<void> {
  await untilOver(new Peer(stdioChannel(app.config.limits), state, app.withLimits(door)));
}

import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";
import type { House } from "../../config/house.ts";
import { untilOver } from "./until-over.ts";

/** Serves one conversation on the standard streams, until the other side or a signal ends it. */
export async function serveStdio<S>(house: House, state: S, door: PeerOptions<S>): Promise<void> {
  const channel = stdioChannel(house.config.limits);
  await untilOver(new Peer(channel, state, house.withLimits(door)));
}

import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";
import type { House } from "../house.ts";
import { untilSignal } from "../long-running.ts";

/** Milliseconds after the end of input: the client may still read answers. */
const INPUT_GRACE = 10_000;
/** Milliseconds after a signal: its sender waits for the process to end. */
const SIGNAL_GRACE = 800;

/** Serves one conversation on the standard streams, until the other side or a signal ends it. */
export async function serveStdio<S>(house: House, state: S, door: PeerOptions<S>): Promise<void> {
  const channel = stdioChannel(house.config.limits);
  await untilOver(new Peer(channel, state, house.withLimits(door)));
}

/** Resolves when a conversation was ended by the other side or by a signal, and is closed. */
export async function untilOver(conversation: Pick<Peer, "ended" | "close">): Promise<void> {
  const signalled = untilSignal().then(() => conversation.close(SIGNAL_GRACE));
  // A signal that comes while the last answers are awaited cuts the wait short.
  const ended = conversation.ended.then(() => conversation.close(INPUT_GRACE));
  await Promise.race([signalled, ended]);
}

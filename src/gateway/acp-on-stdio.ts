import { AcpDoor } from "../protocol/acp/door.ts";
import { AcpConversation } from "../protocol/acp/serve.ts";
import { stdioChannel } from "../wire/channel/stdio.ts";
import type { House } from "./house.ts";
import { LateJuggler } from "./late-juggler.ts";
import { LateSessions } from "./sessions-late.ts";
import { untilSignal } from "./signals.ts";

/** After the end of input: whoever closed it may still read the answers. */
const INPUT_GRACE = 10_000;
/** After a signal: whoever sent it is waiting. */
const SIGNAL_GRACE = 800;

export interface AcpOnStdioOptions {
  /** Who works in new sessions. */
  readonly agent?: string | undefined;
  /** Understands RemoteJuggler's actions too. */
  readonly withActions?: boolean;
}

/** What an editor starts. */
export async function serveAcpOnStdio(
  house: House,
  { agent, withActions = true }: AcpOnStdioOptions = {},
): Promise<void> {
  await using sessions = new LateSessions(house);
  const door = new AcpDoor({
    agent,
    limits: house.config.limits.messages,
    sessions: sessions.open,
  });
  await using juggler = new LateJuggler(house);
  const options = withActions ? juggler.beside(door.peerOptions) : door.peerOptions;
  const channel = stdioChannel(house.config.limits);
  const client = new AcpConversation(door, channel, { peer: house.furnish(options) });
  const signalled = untilSignal().then(() => client.close(SIGNAL_GRACE));
  // A signal that comes while the last answers are awaited cuts the wait short.
  await Promise.race([signalled, client.ended.then(() => client.close(INPUT_GRACE))]);
}

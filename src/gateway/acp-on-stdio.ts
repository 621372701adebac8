import { AcpDoor } from "../protocol/acp/door.ts";
import { AcpConversation } from "../protocol/acp/serve.ts";
import { stdioChannel } from "../wire/channel/stdio.ts";
import type { House } from "./house.ts";
import { LateTools } from "./late-tools.ts";
import { LateSessions } from "./sessions-late.ts";
import { untilSignal } from "./signals.ts";
import { withActions } from "./with-actions.ts";

/** After the end of input: whoever closed it may still read the answers. */
const INPUT_GRACE = 10_000;
/** After a signal: whoever sent it is waiting. */
const SIGNAL_GRACE = 800;

export interface AcpOnStdioOptions {
  /** Who works in new sessions. */
  readonly agent?: string | undefined;
  /** Understands RemoteJuggler's actions too. */
  readonly hasActions?: boolean;
}

/** What an editor starts. */
export async function serveAcpOnStdio(
  house: House,
  { agent, hasActions = true }: AcpOnStdioOptions = {},
): Promise<void> {
  await using tools = new LateTools(house);
  await using sessions = new LateSessions(house, tools);
  const door = new AcpDoor({
    agent,
    limits: house.config.limits.messages,
    sessions: sessions.open,
  });
  const options = hasActions ? withActions(door.peerOptions, tools) : door.peerOptions;
  const channel = stdioChannel(house.config.limits);
  const client = new AcpConversation(door, channel, { peer: house.furnish(options) });
  const signalled = untilSignal().then(() => client.close(SIGNAL_GRACE));
  // A signal that comes while the last answers are awaited cuts the wait short.
  await Promise.race([signalled, client.ended.then(() => client.close(INPUT_GRACE))]);
}

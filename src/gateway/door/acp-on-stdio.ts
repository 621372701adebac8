import { AcpDoor } from "../../protocol/acp/door.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";
import type { House } from "../house.ts";
import { LazyTools } from "../tool/lazy-tools.ts";
import { untilOver } from "./serve-stdio.ts";
import { LazySessions } from "../session/lazy-sessions.ts";
import { withActions } from "./with-actions.ts";

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
  await using tools = new LazyTools(house);
  await using sessions = new LazySessions(house, tools);
  const door = new AcpDoor({
    agent,
    limits: house.config.limits.messages,
    sessions: sessions.open,
  });
  const options = hasActions ? withActions(door.peerOptions, tools) : door.peerOptions;
  const channel = stdioChannel(house.config.limits);
  await untilOver(new AcpConversation(door, channel, { peer: house.withLimits(options) }));
}

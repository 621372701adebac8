import { OWNER } from "../../base/principal.ts";
import { untilOver } from "./until-over.ts";
import type { AppContext } from "../../config/app-context.ts";
import { instructionsFor } from "../tool/instructions.ts";
import { lazyTasks } from "../tool/lazy-tools.ts";
import { openTools } from "../tool/open-tools.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import type { OpenedMcp } from "../../server/relay/own-server.ts";
import type { Channel } from "../../wire/channel.ts";
import { announcedStdio } from "./announced-stdio.ts";

export interface OpenMcpOptions {
  /** The id of our first request. */
  readonly firstId?: number;
  /** The profile that the client was started with. */
  readonly profile?: string | undefined;
}

/** `trunkline mcp`, which assistants start. */
export async function serveMcpOnStdio(app: AppContext, profile?: string): Promise<void> {
  await using opened = await openMcp(app, announcedStdio(app, "assistant"), { profile });
  await untilOver(opened.peer);
}

/** Serves the client of a channel with the tools of this app. */
export async function openMcp(
  app: AppContext,
  channel: Channel<string>,
  { firstId = 1, profile }: OpenMcpOptions = {},
): Promise<OpenedMcp> {
  await using opening = new AsyncDisposableStack();
  const hasProfiles = profile !== undefined;
  const tools = opening.use(await openTools(app, { isLasting: true, hasProfiles }));
  const tasks = opening.use(lazyTasks(app));
  const { report, rootsTimeout } = app;
  const door = new McpDoor({
    offer: tools.offer,
    instructions: (seen) => instructionsFor(tools.offer, seen),
    rootsTimeout,
    tasks: { store: () => tasks.get(), report },
  });
  const connection = opening.use(new Connection(OWNER, process.cwd(), profile));
  const options = app.withLimits(door.optionsFor(connection));
  const peer = new Peer(channel, connection, { ...options, firstId });
  const open = opening.move();
  return {
    peer,
    offer: tools.offer,
    tool: (name) => tools.offer.tools.get(name, door.profileOf(connection.client, connection)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

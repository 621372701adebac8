import { OWNER } from "../../base/principal.ts";
import { untilOver } from "./until-over.ts";
import type { House } from "../../config/house.ts";
import { instructionsFor } from "../tool/instructions.ts";
import { LazyTaskStore } from "../tool/lazy-tools.ts";
import { openTools } from "../tool/open-tools.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import type { OpenedMcp } from "../../server/relay/own-server.ts";
import type { Channel } from "../../wire/channel.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";

export interface OpenMcpOptions {
  /** The id of our first request. */
  readonly firstId?: number;
  /** The profile that the client was started with. */
  readonly profile?: string | undefined;
}

/** `trunkline mcp`, which assistants start. */
export async function serveMcpOnStdio(house: House, profile?: string): Promise<void> {
  await using opened = await openMcp(house, stdioChannel(house.config.limits), { profile });
  await untilOver(opened.peer);
}

/** Serves the client of a channel with the tools of this house. */
export async function openMcp(
  house: House,
  channel: Channel<string>,
  { firstId = 1, profile }: OpenMcpOptions = {},
): Promise<OpenedMcp> {
  await using opening = new AsyncDisposableStack();
  const hasProfiles = profile !== undefined;
  const tools = opening.use(
    await openTools(house, { isLasting: true, mayRemember: true, hasProfiles }),
  );
  const tasks = opening.use(new LazyTaskStore(house));
  const { rootsTimeout } = house;
  const door = new McpDoor({
    offer: tools.offer,
    instructions: (seen) => instructionsFor(tools.offer, seen),
    rootsTimeout,
    tasks: tasks.options,
  });
  const connection = opening.use(new Connection(OWNER, process.cwd(), profile));
  const options = house.withLimits(door.optionsFor(connection));
  const peer = new Peer(channel, connection, { ...options, firstId });
  const open = opening.move();
  return {
    peer,
    offer: tools.offer,
    tool: (name) => tools.offer.tools.get(name, door.profileOf(connection.client, connection)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

import { isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { OWNER } from "../../base/principal.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import type { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Channel } from "../../wire/channel.ts";
import { ProcessSocket } from "../../session/open/process-socket.ts";
import { followConfig } from "../../config/follow-config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { gatewaySocketPath } from "./gateway-sockets.ts";
import {
  CLOSING,
  type GatewayWelcome,
  type RelayGreeting,
  type StatusQuestion,
} from "./reach-gateway.ts";
import { differenceOf, termsOf } from "./terms.ts";

export interface GatewaySocketOptions {
  /** Names the gateway among others on the data folder. */
  readonly id: string;
  readonly door: McpDoor;
  readonly env: NodeJS.ProcessEnv;
  readonly servers: () => readonly UpstreamStatus[];
  /** Milliseconds that open requests have at the end. */
  readonly grace: number;
}

/**
 * Serves MCP to the `trunkline mcp` processes of the same user and data folder, which relay to it. Each
 * proves that it is one, so a client here is the owner.
 */
export async function openGatewaySocket(
  app: AppContext,
  { id, door, env, servers, grace }: GatewaySocketOptions,
): Promise<AsyncDisposable> {
  const { log } = app;
  const { data, limits } = app.config;
  // The `trunkline mcp` processes that are served.
  const served = new Set<{ readonly channel: Channel<string>; readonly gone: Promise<unknown> }>();
  let { config } = app;
  // Only settings that a running gateway applies. After any other change, new processes serve themselves.
  const unfollow = followConfig(app.reloading, log, (live) => {
    const { mcpServers, bus, policy, profiles } = live;
    config = { ...app.config, mcpServers, bus, policy, profiles };
  });
  using opening = new DisposableStack();
  opening.defer(unfollow);
  const path = gatewaySocketPath(data, id);
  const socket = await ProcessSocket.open<RelayGreeting | StatusQuestion, GatewayWelcome>({
    ...{ data, path, limits, log },
    welcome: (greeting) => welcome(greeting as RelayGreeting | StatusQuestion),
    serve: async (channel, greeting) => {
      if (greeting.protocol === "mcp") await serve(channel, greeting);
    },
  });
  opening.move();

  function welcome(greeting: RelayGreeting | StatusQuestion): GatewayWelcome {
    if (greeting.protocol === "status") return { servers: servers() };
    const { protocol, folder, profile = "" } = greeting;
    const isKnown = protocol === "mcp" && isAbsolute(folder) && typeof profile === "string";
    if (!isKnown) return { refused: "does not serve this" };
    return { refused: differenceOf(termsOf(config, env), greeting) };
  }

  async function serve(
    channel: Channel<string>,
    { folder, profile }: RelayGreeting,
  ): Promise<void> {
    using connection = new Connection(OWNER, folder, profile);
    const options = door.optionsFor(connection);
    const peer = new Peer(channel, connection, app.withLimits(options));
    const gone = peer.ended.then(() => peer.close(0));
    const one = { channel, gone };
    served.add(one);
    await gone.finally(() => served.delete(one));
  }

  return {
    [Symbol.asyncDispose]: async (): Promise<void> => {
      unfollow();
      socket.leave();
      for (const { channel } of served) channel.send(CLOSING);
      const gone = Promise.all(Array.from(served, (each) => each.gone));
      await Promise.race([gone, sleep(grace, undefined, { ref: false })]);
      await socket[Symbol.asyncDispose]();
      await gone;
    },
  };
}

import { isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { OWNER } from "../../base/principal.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import type { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Channel } from "../../wire/channel.ts";
import { ProcessSocket } from "../../session/open/process-socket.ts";
import type { Config } from "../../config/config.ts";
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

/** A `trunkline mcp` process that is served. */
interface ServedProcess {
  readonly channel: Channel<string>;
  readonly gone: Promise<unknown>;
}

/**
 * Serves MCP to the `trunkline mcp` processes of the same user and data folder, which relay to it. Each
 * proves that it is one, so a client here is the owner.
 */
export class GatewaySocket implements AsyncDisposable {
  readonly #app: AppContext;
  readonly #options: GatewaySocketOptions;
  readonly #served = new Set<ServedProcess>();
  readonly #unfollow: () => void;
  #socket: ProcessSocket<RelayGreeting | StatusQuestion, GatewayWelcome> | undefined;
  /** The configuration in force, which may change while the gateway runs. */
  #config: Config;

  private constructor(app: AppContext, options: GatewaySocketOptions) {
    this.#app = app;
    this.#options = options;
    this.#config = app.config;
    // Only settings that a running gateway applies. After any other change, new processes serve themselves.
    this.#unfollow = followConfig(app.reloading, app.log, (live) => {
      const { mcpServers, bus, policy, profiles } = live;
      this.#config = { ...app.config, mcpServers, bus, policy, profiles };
    });
  }

  static async open(app: AppContext, options: GatewaySocketOptions): Promise<GatewaySocket> {
    const opened = new GatewaySocket(app, options);
    const { data, limits } = app.config;
    try {
      opened.#socket = await ProcessSocket.open<RelayGreeting | StatusQuestion, GatewayWelcome>({
        data,
        path: gatewaySocketPath(data, options.id),
        limits,
        log: app.log,
        welcome: (greeting) => opened.#welcome(greeting as RelayGreeting | StatusQuestion),
        serve: async (channel, greeting) => {
          if (greeting.protocol === "mcp") await opened.#serve(channel, greeting);
        },
      });
    } catch (error) {
      opened.#unfollow();
      throw error;
    }
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { grace } = this.#options;
    this.#unfollow();
    this.#socket?.leave();
    for (const { channel } of this.#served) channel.send(CLOSING);
    const gone = Promise.all(Array.from(this.#served, (served) => served.gone));
    await Promise.race([gone, sleep(grace, undefined, { ref: false })]);
    await this.#socket?.[Symbol.asyncDispose]();
    await gone;
  }

  #welcome(greeting: RelayGreeting | StatusQuestion): GatewayWelcome {
    if (greeting.protocol === "status") return { servers: this.#options.servers() };
    const { protocol, folder, profile = "" } = greeting;
    const isKnown = protocol === "mcp" && isAbsolute(folder) && typeof profile === "string";
    if (!isKnown) return { refused: "does not serve this" };
    return { refused: differenceOf(termsOf(this.#config, this.#options.env), greeting) };
  }

  async #serve(channel: Channel<string>, { folder, profile }: RelayGreeting): Promise<void> {
    using connection = new Connection(OWNER, folder, profile);
    const options = this.#options.door.optionsFor(connection);
    const peer = new Peer(channel, connection, this.#app.withLimits(options));
    const gone = peer.ended.then(() => peer.close(0));
    const served = { channel, gone };
    this.#served.add(served);
    await gone.finally(() => this.#served.delete(served));
  }
}

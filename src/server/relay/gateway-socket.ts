import { once } from "node:events";
import { rmSync } from "node:fs";
import { chmod, mkdir, rename } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { background } from "../../base/background.ts";
import { OWNER } from "../../base/principal.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import type { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Peer } from "../../rpc/peer.ts";
import { SocketName } from "../../store/socket-name.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Channel } from "../../wire/channel.ts";
import { GreetedChannel } from "../../wire/channel/greeted.ts";
import { streamChannel } from "../../wire/channel/stream.ts";
import { mustBeOwn, OwnProcess } from "../../store/access/own-process.ts";
import type { Config } from "../../config/config.ts";
import { followConfig } from "../../config/follow-config.ts";
import type { AppContext } from "../../gateway/app-context.ts";
import { gatewaySocketPath } from "./gateway-sockets.ts";
import {
  CLOSING,
  type Greeting,
  type ServersNow,
  type StatusQuestion,
  type Welcome,
} from "./greeting.ts";
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

/** A window that is served. */
interface Served {
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
  readonly #path: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #served = new Set<Served>();
  readonly #unfollow: () => void;
  readonly #own: OwnProcess;
  /** As it is now: it may change while the gateway runs. */
  #config: Config;

  private constructor(app: AppContext, options: GatewaySocketOptions) {
    this.#app = app;
    this.#options = options;
    this.#config = app.config;
    this.#own = new OwnProcess(app.config.data);
    this.#path = gatewaySocketPath(app.config.data, options.id);
    this.#server = createServer((socket) => {
      background(this.#accept(socket), "Accepting a relay");
    });
    // Only what is applied while the gateway runs: with any other change, a window serves itself.
    this.#unfollow = followConfig(app.reloading, app.log, (live) => {
      const { mcpServers, bus, policy, profiles } = live;
      this.#config = { ...app.config, mcpServers, bus, policy, profiles };
    });
  }

  static async open(app: AppContext, options: GatewaySocketOptions): Promise<GatewaySocket> {
    const opened = new GatewaySocket(app, options);
    try {
      await opened.#listen();
    } catch (error) {
      opened.#unfollow();
      throw error;
    }
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { grace } = this.#options;
    this.#unfollow();
    rmSync(this.#path, { force: true });
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const { channel } of this.#served) channel.send(CLOSING);
    const gone = Promise.all(Array.from(this.#served, (served) => served.gone));
    await Promise.race([gone, sleep(grace, undefined, { ref: false })]);
    for (const socket of this.#sockets) socket.destroy();
    await gone;
    await closed;
  }

  /** Listens under another name first: under its own name, a socket that refuses is a dead one's. */
  async #listen(): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    using name = new SocketName(`${this.#path}.new`);
    this.#server.unref();
    this.#server.listen(name.path);
    await once(this.#server, "listening");
    await chmod(name.path, 0o600);
    await rename(`${this.#path}.new`, this.#path);
  }

  async #accept(socket: Socket): Promise<void> {
    const { limits } = this.#app.config;
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
    try {
      await mustBeOwn(socket);
      const channel = new GreetedChannel(streamChannel(socket, socket, { limits }));
      const greeting = JSON.parse(await channel.greeting) as Greeting | StatusQuestion;
      const unproven = this.#own.refusal(greeting);
      if (greeting.protocol === "status") {
        const now: ServersNow =
          unproven === undefined
            ? { servers: this.#options.servers() }
            : { servers: [], refused: unproven };
        await channel.send(JSON.stringify(now));
        await channel[Symbol.asyncDispose]();
        return;
      }
      const why = unproven === undefined ? undefined : `does not believe it. ${unproven}`;
      const refused = why ?? this.#refusal(greeting);
      const welcome: Welcome = refused === undefined ? { isAccepted: true } : { refused };
      await channel.send(JSON.stringify(welcome));
      if (refused === undefined) await this.#serve(channel, greeting);
      else await channel[Symbol.asyncDispose]();
    } catch (error) {
      this.#app.log.warn("relay.refused", { error });
    } finally {
      socket.destroy();
    }
  }

  #refusal(greeting: Greeting): string | undefined {
    const { protocol, folder, profile = "" } = greeting;
    const isKnown = protocol === "mcp" && isAbsolute(folder) && typeof profile === "string";
    if (!isKnown) return "does not serve this";
    return differenceOf(termsOf(this.#config, this.#options.env), greeting);
  }

  async #serve(channel: Channel<string>, { folder, profile }: Greeting): Promise<void> {
    using connection = new Connection(OWNER, folder, profile);
    const options = this.#options.door.optionsFor(connection);
    const peer = new Peer(channel, connection, this.#app.withLimits(options));
    const gone = peer.ended.then(() => peer.close(0));
    const served = { channel, gone };
    this.#served.add(served);
    await gone.finally(() => this.#served.delete(served));
  }
}

import { chmod } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { once } from "node:events";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { ACP } from "../../rpc/codes.ts";
import { readEnvelope } from "../../rpc/message/envelope.ts";
import { errorText, RpcError } from "../../rpc/rpc-error.ts";
import { HOLDERS, socketIn } from "../../store/holder.ts";
import { SocketName } from "../../store/socket-name.ts";
import type { Channel } from "../../wire/channel.ts";
import {
  greet,
  serveGreeted,
  type ServeGreetedOptions,
} from "../../wire/channel/principal-greeting.ts";
import { mustBeOwn, OwnProcess } from "../../store/access/own-process.ts";

/** Milliseconds. A stopped process (SIGSTOP) accepts no connection. */
const CONNECT_TIMEOUT = 2_000;

export interface HolderSocketOptions extends ServeGreetedOptions {
  readonly data: string;
  /** The id of this process. */
  readonly holder: string;
}

/**
 * Serves the sessions that this process has open to other processes of the same user. The principal in
 * the greeting of such a process is believed.
 */
export class HolderSocket implements AsyncDisposable {
  readonly #options: HolderSocketOptions;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #name: SocketName;
  readonly #own: OwnProcess;

  private constructor(options: HolderSocketOptions) {
    this.#options = options;
    this.#own = new OwnProcess(options.data);
    this.#name = new SocketName(socketIn(join(options.data, HOLDERS), options.holder));
    this.#server = createServer((socket) => {
      background(this.#accept(socket), "Accepting another process");
    });
  }

  static async open(options: HolderSocketOptions): Promise<HolderSocket> {
    const socket = new HolderSocket(options);
    await socket.#own.prepare();
    socket.#server.unref();
    socket.#server.listen(socket.#name.path);
    await once(socket.#server, "listening");
    await chmod(socket.#name.path, 0o600);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#name[Symbol.dispose]();
  }

  async #accept(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    const { log, serve } = this.#options;
    try {
      await mustBeOwn(socket);
    } catch (error) {
      log.warn("session.process-refused", { error });
      socket.destroy();
      return;
    }
    await serveGreeted(socket, {
      ...this.#options,
      serve: async (channel, principal, greeting) => {
        const refused = this.#own.refusal(greeting);
        if (refused === undefined) return serve(channel, principal, greeting);
        log.warn("session.process-refused", { why: refused });
        return refuse(channel, refused);
      },
    });
  }
}

/** Answers the first request with why, and closes: an older process passes that on to its person. */
async function refuse(channel: Channel<string>, why: string): Promise<void> {
  const asked = Promise.withResolvers<string | undefined>();
  channel.receive({
    message: (text) => {
      const { id } = readEnvelope(text);
      if (id !== undefined) asked.resolve(text.slice(id.from, id.to));
    },
    fault: () => {},
    end: () => asked.resolve(undefined),
  });
  const id = await asked.promise;
  if (id === undefined) return;
  const error = errorText(new RpcError(ACP.permissionDenied.code, why));
  await channel.send(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
  await channel[Symbol.asyncDispose]();
}

/** Connects to the process that has a session open. Rejects with "unavailable" if it cannot be reached. */
export async function reachHolder(
  data: string,
  holder: string,
  principal: Principal,
): Promise<Channel<string>> {
  using name = new SocketName(socketIn(join(data, HOLDERS), holder));
  const socket = connect(name.path);
  const giveUp = (): void => {
    if (socket.connecting) socket.destroy(new Error("it accepts no connection"));
  };
  // If this process had no time, it is only now told that it is connected.
  const late = setTimeout(() => setImmediate(giveUp), CONNECT_TIMEOUT);
  try {
    await once(socket, "connect");
    await mustBeOwn(socket);
    return greet(socket, principal, new OwnProcess(data).proof);
  } catch (error) {
    socket.destroy();
    const [pid] = holder.split("-");
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("unavailable", `Cannot reach process ${pid}: ${why}.`, {
      cause: error,
    });
  } finally {
    clearTimeout(late);
  }
}

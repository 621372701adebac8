import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket } from "ws";

import type { Channel, ChannelLimits } from "../../src/wire/channel.ts";
import {
  type WebSocketAcceptor,
  webSocketAcceptor,
} from "../../src/wire/channel/websocket-acceptor.ts";

export const SMALL = { maxMessage: 1000, closeGrace: 200 };

/** A server that accepts channels, and clients that speak below them. */
export class WebSocketHarness implements AsyncDisposable {
  readonly acceptor: WebSocketAcceptor;
  readonly accepted: { channel: Channel<string>; socket: Socket }[] = [];
  readonly #server = createServer();
  readonly #clients: (WebSocket | Socket)[] = [];

  private constructor(limits: Partial<ChannelLimits>, heartbeat?: number) {
    this.acceptor = webSocketAcceptor(limits, heartbeat);
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.acceptor.accept(request, socket, head).then((channel) => {
        this.accepted.push({ channel, socket: request.socket });
        this.#server.emit("accepted");
      });
    });
  }

  static async open(
    limits: Partial<ChannelLimits> = SMALL,
    heartbeat?: number,
  ): Promise<WebSocketHarness> {
    const harness = new WebSocketHarness(limits, heartbeat);
    harness.#server.listen(0, "127.0.0.1");
    await once(harness.#server, "listening");
    return harness;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** A client of the `ws` library, and the server's side of its connection. */
  async connect(): Promise<{ client: WebSocket; channel: Channel<string>; socket: Socket }> {
    const client = new WebSocket(`ws://127.0.0.1:${this.port}`);
    this.#clients.push(client);
    await Promise.all([once(client, "open"), once(this.#server, "accepted")]);
    const last = this.accepted.at(-1);
    assert.ok(last);
    return { client, ...last };
  }

  /** A bare connection that has sent a request. */
  request(headers: Record<string, string>): Socket {
    const socket = connect(this.port, "127.0.0.1");
    this.#clients.push(socket);
    const lines = Object.entries({ host: "127.0.0.1", ...headers }).map(([k, v]) => `${k}: ${v}`);
    socket.write(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) {
      if (client instanceof WebSocket) client.terminate();
      else client.destroy();
    }
    this.acceptor[Symbol.dispose]();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

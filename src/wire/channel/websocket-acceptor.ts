import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

import { type WebSocket, WebSocketServer } from "ws";

import type { Channel, ChannelLimits } from "../channel.ts";
import { webSocketChannel, webSocketSettings } from "./websocket.ts";

/** A client that misses two heartbeats is gone: many networks drop idle connections silently. */
const HEARTBEAT = 20_000;

/** Turns HTTP upgrades into channels, and closes those whose client is gone, by a heartbeat. */
export class WebSocketAcceptor implements Disposable {
  readonly #server: WebSocketServer;
  readonly #limits: Partial<ChannelLimits>;
  /** Each open socket, and how many heartbeats it has left unanswered. */
  readonly #missed = new Map<WebSocket, number>();
  /** Extra headers for the answers to handshakes. */
  readonly #headers = new WeakMap<IncomingMessage, readonly string[]>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: Partial<ChannelLimits> = {}, heartbeat = HEARTBEAT) {
    this.#limits = limits;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      ...webSocketSettings(limits),
    });
    this.#server.on("headers", (lines, request) => {
      lines.push(...(this.#headers.get(request) ?? []));
    });
    // One timer for all: ten thousand idle connections need not have ten thousand.
    this.#timer = setInterval(() => this.#beat(), heartbeat).unref();
  }

  get size(): number {
    return this.#missed.size;
  }

  /** Completes the handshake. A request that is no proper upgrade is answered and never resolves. */
  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Channel<string>> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    if (lines.length > 0) this.#headers.set(request, lines);
    return new Promise((resolve) => {
      this.#server.handleUpgrade(request, socket, head, (ws) => resolve(this.#open(ws, socket)));
    });
  }

  /** Not in `accept`: listeners made there would keep the request in memory as long as the connection. */
  #open(ws: WebSocket, socket: Duplex): Channel<string> {
    this.#missed.set(ws, 0);
    ws.on("pong", () => this.#missed.set(ws, 0));
    ws.on("close", () => this.#missed.delete(ws));
    return webSocketChannel(ws, { limits: this.#limits, socket });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const ws of this.#missed.keys()) ws.terminate();
    this.#server.close();
  }

  #beat(): void {
    for (const [ws, missed] of this.#missed) {
      if (missed >= 2) {
        ws.terminate();
      } else {
        // While its input is held, its answers wait with the rest.
        this.#missed.set(ws, ws.isPaused ? 0 : missed + 1);
        ws.ping();
      }
    }
  }
}

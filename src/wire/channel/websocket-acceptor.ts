import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

import { type WebSocket, WebSocketServer } from "ws";

import type { Channel, ChannelLimits } from "../channel.ts";
import { webSocketChannel, webSocketSettings } from "./websocket.ts";

/** A client that misses two heartbeats is gone: many networks drop idle connections silently. */
const HEARTBEAT = 20_000;

/** Turns HTTP upgrades into channels, and closes those whose client is gone, by a heartbeat. */
export type WebSocketAcceptor = ReturnType<typeof webSocketAcceptor>;

export function webSocketAcceptor(limits: Partial<ChannelLimits> = {}, heartbeat = HEARTBEAT) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    ...webSocketSettings(limits),
  });
  /** Each open socket, and how many heartbeats it has left unanswered. */
  const missedBeats = new Map<WebSocket, number>();
  /** Extra headers for the answers to handshakes. */
  const moreHeaders = new WeakMap<IncomingMessage, readonly string[]>();
  /** Not in `accept`: listeners made there would keep the request in memory as long as the connection. */
  const open = (ws: WebSocket, socket: Duplex): Channel<string> => {
    missedBeats.set(ws, 0);
    ws.on("pong", () => missedBeats.set(ws, 0));
    ws.on("close", () => missedBeats.delete(ws));
    return webSocketChannel(ws, { limits, socket });
  };
  const beat = (): void => {
    for (const [ws, missed] of missedBeats) {
      if (missed >= 2) {
        ws.terminate();
      } else {
        // While its input is held, its answers wait with the rest.
        missedBeats.set(ws, ws.isPaused ? 0 : missed + 1);
        ws.ping();
      }
    }
  };
  server.on("headers", (lines, request) => {
    lines.push(...(moreHeaders.get(request) ?? []));
  });
  // One timer for all: ten thousand idle connections need not have ten thousand.
  const timer = setInterval(beat, heartbeat).unref();
  return {
    get size(): number {
      return missedBeats.size;
    },
    /** Completes the handshake. A request that is no proper upgrade is answered and never resolves. */
    accept(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<Channel<string>> {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      if (lines.length > 0) moreHeaders.set(request, lines);
      return new Promise((resolve) => {
        server.handleUpgrade(request, socket, head, (ws) => resolve(open(ws, socket)));
      });
    },
    [Symbol.dispose](): void {
      clearInterval(timer);
      for (const ws of missedBeats.keys()) ws.terminate();
      server.close();
    },
  };
}

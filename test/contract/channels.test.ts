import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createSocketServer,
  type Socket,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket, WebSocketServer } from "ws";

import { ModernExchange } from "../../src/protocol/mcp/serve/http/modern-requests.ts";
import { type Channel, type ChannelLimits, resolveChannelLimits } from "../../src/wire/channel.ts";
import { readHttpBody } from "../../src/wire/channel/http-body.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { webSocketChannel, webSocketSettings } from "../../src/wire/channel/websocket.ts";
import { channelContract, type ChannelPair } from "./channel-contract.ts";
import { HttpReader } from "./http-reader.ts";

channelContract("memory", { canHalfClose: true }, async (limits, lastWords) => {
  const [left, right] = memoryPair(limits);
  if (lastWords !== undefined) {
    void left.send(lastWords);
    void left.finish();
  }
  return { left, right, [Symbol.asyncDispose]: async () => {} };
});

channelContract("stdio", { canHalfClose: true }, (limits, lastWords) =>
  socketPair({ path: join(tmpdir(), `trunkline-${randomUUID()}`) }, limits, lastWords),
);

channelContract("TCP", { canHalfClose: true }, (limits, lastWords) =>
  socketPair({ host: "127.0.0.1", port: 0 }, limits, lastWords),
);

channelContract("WebSocket", { canHalfClose: false }, async (limits) => {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, ...webSocketSettings(limits) });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const near = new WebSocket(`ws://127.0.0.1:${port}`, webSocketSettings(limits));
  const accepted = once(server, "connection");
  const opened = once(near, "open").then(() => webSocketChannel(near, { limits }));
  const [far, request] = (await accepted) as [WebSocket, { socket: Socket }];
  const right = webSocketChannel(far, { limits, socket: request.socket });
  return {
    left: await opened,
    right,
    async [Symbol.asyncDispose]() {
      near.terminate();
      far.terminate();
      server.close();
    },
  };
});

/** What `/mcp` answers a request of 2026-07-28 with, once it has read the request. */
channelContract(
  "HTTP exchange",
  { canHalfClose: true, isOneWay: true },
  async (given, lastWords) => {
    const limits = resolveChannelLimits(given);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const left = new HttpReader(new URL(`http://127.0.0.1:${port}/`), limits, lastWords ?? "{}");
    const [request, response] = (await once(server, "request")) as [
      IncomingMessage,
      ServerResponse,
    ];
    const body = await readHttpBody(request, limits.maxMessage);
    const right = new ModernExchange(response, limits);
    right.onOver(() => {});
    return {
      left,
      right: lastWords === undefined ? right : afterRequest(right, body as string),
      async [Symbol.asyncDispose]() {
        left.abort(new Error("The test is over"));
        server.closeAllConnections();
        server.close();
      },
    };
  },
);

async function socketPair(
  where: { path: string } | { host: string; port: number },
  limits: Partial<ChannelLimits>,
  lastWords?: string,
): Promise<ChannelPair> {
  const server = createSocketServer({ allowHalfOpen: true }).listen(where);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const near = connect({ ...where, ...("path" in where ? {} : { port }), allowHalfOpen: true });
  const [far] = (await once(server, "connection")) as [Socket];
  if (lastWords !== undefined) near.end(`${lastWords}\n`);
  return {
    left: streamChannel(near, near, { limits }),
    right: streamChannel(far, far, { limits }),
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      server.close();
    },
  };
}

/** The door gives the request to the peer itself, for it has to look into it first. */
function afterRequest(exchange: Channel<string>, body: string): Channel<string> {
  return {
    receive(sink) {
      exchange.receive(sink);
      void sink.message(body);
      sink.end();
    },
    send: (text) => exchange.send(text),
    abort: (reason) => exchange.abort(reason),
    [Symbol.asyncDispose]: () => exchange[Symbol.asyncDispose](),
  };
}

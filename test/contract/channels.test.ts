import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createSocketServer,
  type Socket,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket, WebSocketServer } from "ws";

import type { Channel } from "../../src/wire/channel.ts";
import { httpCall, httpExchange } from "../../src/wire/channel/http.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { webSocketChannel, webSocketSettings } from "../../src/wire/channel/websocket.ts";
import { channelContract } from "./channel-contract.ts";

channelContract("memory", async (limits) => {
  const [left, right] = memoryPair(limits);
  return { left, right, [Symbol.asyncDispose]: async () => {} };
});

channelContract(
  "stdio",
  async (limits) => {
    const folder = await mkdtemp(join(tmpdir(), "trunkline-"));
    const server = createSocketServer({ allowHalfOpen: true }).listen(join(folder, "pipe"));
    await once(server, "listening");
    const near = connect({ path: join(folder, "pipe"), allowHalfOpen: true });
    const [far] = (await once(server, "connection")) as [Socket];
    return {
      left: streamChannel(near, near, { limits }),
      halfClose: () => void near.end(),
      right: streamChannel(far, far, { limits }),
      async [Symbol.asyncDispose]() {
        near.destroy();
        far.destroy();
        server.close();
        await rm(folder, { recursive: true });
      },
    };
  },
  { canHalfClose: true },
);

channelContract("WebSocket", async (limits) => {
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

channelContract("HTTP exchange", async (limits) => {
  const accepted = Promise.withResolvers<Channel<string>>();
  const answer: RequestListener = (request, response) => {
    accepted.resolve(httpExchange(request, response, { reply: "events", limits }));
  };
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const left = httpCall(new URL(`http://127.0.0.1:${port}/`), { limits });
  const right = await accepted.promise;
  return {
    left,
    right,
    async [Symbol.asyncDispose]() {
      left.abort(new Error("The test is over"));
      server.closeAllConnections();
      server.close();
    },
  };
});

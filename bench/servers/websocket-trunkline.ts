import { createServer } from "node:http";
import { method } from "../../src/rpc/method.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { route, routes } from "../../src/rpc/route.ts";
import { WebSocketAcceptor } from "../../src/wire/channel/websocket-acceptor.ts";
import { benchDialect } from "./bench-dialect.ts";
import { offer } from "./offer.ts";

const echo = method<{ text: string }, { text: string }>("echo", {
  check: (value) => {
    const { text } = value as Record<string, unknown>;
    return typeof text === "string" ? undefined : { path: ["text"], says: "must be a string" };
  },
});
const options = { dialect: benchDialect, routes: routes(route(echo, ({ text }) => ({ text }))) };

const http = createServer();
const acceptor = new WebSocketAcceptor();
http.on("upgrade", (request, socket, head) => {
  void acceptor.accept(request, socket, head).then((channel) => {
    const peer = new Peer(channel, undefined, options);
    return peer.ended.then(() => peer.close());
  });
});
offer(http);

// The baseline: the smallest server on `ws` that answers JSON-RPC.
import { createServer } from "node:http";
import { type RawData, WebSocketServer } from "ws";
import { offer } from "./offer.ts";

const http = createServer();
const server = new WebSocketServer({ server: http, perMessageDeflate: false });
server.on("connection", (ws) => {
  ws.on("message", (data: RawData) => {
    const { id, params } = JSON.parse((data as Buffer).toString());
    ws.send(JSON.stringify({ jsonrpc: "2.0", id, result: { text: params.text } }));
  });
});
offer(http);

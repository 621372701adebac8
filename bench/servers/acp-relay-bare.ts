// The yardstick: the least that passes ACP on between a WebSocket and an agent's standard streams.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { type RawData, WebSocketServer } from "ws";

import { offer } from "./offer.ts";

const [command = "", ...args] = process.argv.slice(2);
const http = createServer();
const server = new WebSocketServer({ server: http, perMessageDeflate: false });
server.on("connection", (ws) => {
  const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  ws.on("message", (data: RawData) => agent.stdin.write(`${(data as Buffer).toString()}\n`));
  ws.on("close", () => agent.kill());
  let rest = "";
  agent.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) ws.send(line);
  });
});
offer(http);

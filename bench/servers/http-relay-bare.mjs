// The baseline for a gateway on HTTP: a server behind it on stdio, ids rewritten both ways.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { offer } from "./offer.ts";

const upstream = spawn(process.execPath, [join(import.meta.dirname, "mcp-upstream.mjs")], {
  stdio: ["pipe", "pipe", "inherit"],
});
const asked = new Map();
let lastId = 0;
let rest = "";
upstream.stdout.setEncoding("utf8");
upstream.stdout.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const message = JSON.parse(line);
    const { id, response } = asked.get(message.id);
    asked.delete(message.id);
    message.id = id;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(message));
  }
});
process.on("disconnect", () => upstream.stdin.end());

offer(
  createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const message = JSON.parse(body);
      if (message.id === undefined) {
        response.writeHead(202).end();
        return;
      }
      asked.set(++lastId, { id: message.id, response });
      message.id = lastId;
      upstream.stdin.write(`${JSON.stringify(message)}\n`);
    });
  }),
);

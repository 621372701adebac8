// The baseline: the smallest Node program that answers JSON-RPC over HTTP.
import { createServer } from "node:http";
import { offer } from "./offer.ts";

offer(
  createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { id, method, params } = JSON.parse(body);
      const isCall = method === "tools/call";
      const result = isCall ? { content: [{ type: "text", text: params.arguments.text }] } : {};
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  }),
);

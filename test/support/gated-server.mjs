// An MCP server that takes long to start, as `npx -y` does the first time: `gated-server.mjs GATE`
// does nothing until there is a file GATE. What that says is what becomes of it: "fail" or anything.
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [, , gate] = process.argv;
process.stderr.write("fetching the package\n");
while (!existsSync(gate)) await sleep(20);
if (readFileSync(gate, "utf8") === "fail") {
  process.stderr.write("no such package\n");
  process.exit(3);
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "gated", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "late", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "better late than never" }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = Object.hasOwn(METHODS, method)
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

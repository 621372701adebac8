// An MCP server with the tools that the file TOOLS describes: `tools-server.mjs TOOLS RECORD`. Each
// call is one line of the file RECORD, and is answered with its arguments. A call of `add_tool` adds its
// arguments to TOOLS.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , file, record] = process.argv;
const inputSchema = { type: "object" };

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "tools", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: JSON.parse(readFileSync(file, "utf8")).map((tool) => ({ inputSchema, ...tool })),
  }),
  "tools/call": ({ name, arguments: args = {} }) => {
    appendFileSync(record, `${name}\n`);
    if (name === "add_tool") addTool(args);
    return { content: [{ type: "text", text: JSON.stringify(args) }] };
  },
};

function addTool(tool) {
  writeFileSync(file, JSON.stringify([...JSON.parse(readFileSync(file, "utf8")), tool]));
  const method = "notifications/tools/list_changed";
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", method })}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = Object.hasOwn(METHODS, method)
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

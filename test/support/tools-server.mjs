// An MCP server with the tools that the file TOOLS describes: `tools-server.mjs TOOLS RECORD`. Each
// call is one line of the file RECORD, and is answered with its arguments.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , file, record] = process.argv;
const inputSchema = { type: "object" };

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "tools", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: JSON.parse(readFileSync(file, "utf8")).map((tool) => ({ inputSchema, ...tool })),
  }),
  "tools/call": ({ name, arguments: args = {} }) => {
    appendFileSync(record, `${name}\n`);
    return { content: [{ type: "text", text: JSON.stringify(args) }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = Object.hasOwn(METHODS, method)
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

// An MCP server that notes each call as it came: `recording-server.mjs RECORD`. One line of the file
// RECORD is one message.
import { appendFileSync } from "node:fs";

const [, , record] = process.argv;
const inputSchema = {
  type: "object",
  properties: { mode: { type: "string", enum: ["safe"] }, number: { type: "number" } },
  required: ["mode"],
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "recording", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "note", inputSchema }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "noted" }] }),
};

let rest = "";

function take(line) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "tools/call") appendFileSync(record, `${line}\n`);
  const answer = Object.hasOwn(METHODS, method)
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

// Not by `node:readline`, which also ends a line at U+2028.
for await (const text of process.stdin.setEncoding("utf8")) {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) take(line);
}

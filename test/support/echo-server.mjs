// An MCP server that is put under load: `echo-server.mjs NAME RECORD`. Its answers say which process
// gave them, and each call that it takes is one line of the file RECORD before it is answered.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [, , name, record] = process.argv;
const inputSchema = {
  type: "object",
  properties: { message: { type: "string" }, wait: { type: "number" } },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name, version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      { name: `${name}_do`, inputSchema },
      { name: `${name}_read`, inputSchema, annotations: { readOnlyHint: true } },
    ],
  }),
  "tools/call": async ({ arguments: { message, wait = 0 } }) => {
    appendFileSync(record, `${message}\n`);
    if (wait > 0) await sleep(wait);
    return { content: [{ type: "text", text: `${process.pid} ${message}` }] };
  },
};

async function answer({ id, method, params = {} }) {
  const answered = Object.hasOwn(METHODS, method)
    ? { result: await METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answered })}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id !== undefined) void answer(message);
}

// An MCP server that has something: `bad-server.mjs TROUBLE`. It offers one tool under the name of its
// trouble, which begins with the first call.
import { closeSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , trouble = ""] = process.argv;
const write = (value) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...value })}\n`);

/** Writes without end, as fast as it is read. */
function flood(stream, text) {
  const chunk = text.repeat(Math.ceil(65_536 / text.length));
  const more = () => {
    while (stream.write(chunk)) continue;
    stream.once("drain", more);
  };
  more();
}

const TROUBLES = {
  dies: () => process.exit(3),
  hangs: () => {},
  "floods stderr": () => flood(process.stderr, "all is lost, all is lost, all is lost\n"),
  "floods stdout": () => flood(process.stdout, "all is lost, all is lost, all is lost\n"),
  "floods messages": () =>
    flood(process.stdout, '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'),
  "asks without end": () => flood(process.stdout, '{"jsonrpc":"2.0","id":"q","method":"ping"}\n'),
  "answers wrong ids": (id) => {
    for (const wrong of [id + 1000, String(id), null, -1, {}]) write({ id: wrong, result: {} });
  },
  "answers twice": (id) => {
    for (let times = 0; times < 2; times++) write({ id, result: { content: [] } });
  },
  "answers no JSON": (id) => process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":\n`),
  "answers half a line": (id) => process.stdout.write(`{"jsonrpc":"2.0","id":${id},`),
  "answers too much": (id) => {
    const text = "x".repeat(33 * 1024 * 1024);
    write({ id, result: { content: [{ type: "text", text }] } });
  },
  "closes stdout": () => closeSync(1),
  "reads no more": () => {
    process.stdin.pause();
    setInterval(() => {}, 1_000);
  },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: trouble, version: "1" },
  }),
  "tools/list": () => ({
    tools: [{ name: trouble.replaceAll(" ", "_"), inputSchema: { type: "object" } }],
  }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (method === "tools/call") TROUBLES[trouble]?.(id);
  else if (id !== undefined && method !== undefined) {
    const isKnown = Object.hasOwn(METHODS, method);
    const error = { code: -32601, message: "Method not found" };
    write({ id, ...(isKnown ? { result: METHODS[method](params) } : { error }) });
  }
});

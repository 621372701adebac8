// An MCP server of another party with tools, prompts and resources: `library-server.mjs [INSTRUCTIONS]`.
import { createInterface } from "node:readline";

const [, , instructions] = process.argv;
const tool = (name) => ({ name, description: `To ${name}`, inputSchema: { type: "object" } });
const text = (said) => ({ content: [{ type: "text", text: said }] });

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: "library", version: "1" },
    instructions,
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool("read_book"), tool("burn_book")] }),
  "tools/call": ({ name }) => text(`${name} was called`),
  "prompts/list": () => ({ prompts: [{ name: "praise" }, { name: "mock" }] }),
  "prompts/get": ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: name } }],
  }),
  "resources/list": () => ({
    resources: ["book://open/1", "book://closed/1"].map((uri) => ({ uri, name: uri })),
  }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, text: uri }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = Object.hasOwn(METHODS, method)
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

// An MCP server whose list of tools is long: TOOLS of them, or what LIST says instead.
import { createInterface } from "node:readline";

const { TOOLS = "600", LIST, CAPABILITIES = '{"tools":{}}' } = process.env;

function tool(_, index) {
  const members = Array.from({ length: 12 }, (__, at) => [
    `parameter_${index}_${at}`,
    {
      type: "string",
      description: `Parameter ${at} of tool ${index}. `.repeat(3),
      enum: ["a", "b"],
    },
  ]);
  const properties = Object.fromEntries(members);
  return {
    name: `tool_${index}`,
    description: "Does it",
    inputSchema: { type: "object", properties },
  };
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: JSON.parse(CAPABILITIES),
    serverInfo: { name: "long", version: "1" },
  }),
  "tools/list": () =>
    LIST === undefined ? { tools: Array.from({ length: Number(TOOLS) }, tool) } : JSON.parse(LIST),
  "tools/call": ({ name }) => ({ content: [{ type: "text", text: name }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const error = { code: -32601, message: "Method not found" };
  const answer = method in METHODS ? { result: METHODS[method](params) } : { error };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

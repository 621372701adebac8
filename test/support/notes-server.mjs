// An MCP server of another party: two tools, described as the file given says, or in its own words.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , descriptionFile] = process.argv;
const description = descriptionFile
  ? readFileSync(descriptionFile, "utf8").trim()
  : "Reads a note\nby its name.";
const TOOLS = [
  {
    name: "read_note",
    description,
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    },
  },
  { name: "fail", title: "Always fails", inputSchema: { type: "object" } },
];

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    instructions: process.env.NOTES_INSTRUCTIONS,
    serverInfo: { name: "notes", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": ({ name, arguments: args }) =>
    name === "fail"
      ? { content: [{ type: "text", text: "It cannot be done" }], isError: true }
      : { content: [{ type: "text", text: `The note ${args.name}: \u001b[31mred\u001b[0m` }] },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = Object.hasOwn(METHODS, method)
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

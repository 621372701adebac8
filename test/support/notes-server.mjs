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
  "tools/call": ({ name, arguments: args }) => {
    if (name === "fail") {
      return { content: [{ type: "text", text: "It cannot be done" }], isError: true };
    }
    // Notes on how it was started, and one that nobody finds.
    if (args.name === "how") return said(`${process.env.NOTES_KEY} ${process.argv[3]}`);
    if (args.name === "never") return undefined;
    return said(`The note ${args.name}: \u001b[31mred\u001b[0m`);
  },
};

function said(text) {
  return { content: [{ type: "text", text }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const isKnown = Object.hasOwn(METHODS, method);
  const result = isKnown ? METHODS[method](params) : undefined;
  if (isKnown && result === undefined) continue;
  const answer = isKnown ? { result } : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}

// The smallest MCP server with one tool, to be placed behind a gateway.
const tools = [{ name: "echo", description: "Says the same", inputSchema: { type: "object" } }];
/** Some gateways speak only these. */
const older = ["2024-11-05", "2025-03-26", "2025-06-18"];
const answers = {
  initialize: ({ protocolVersion: asked }) => ({
    protocolVersion: older.includes(asked) ? asked : "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "echo", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ arguments: { text } }) => ({ content: [{ type: "text", text }] }),
};
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  let text = "";
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = answers[method]?.(params);
    const error = { code: -32601, message: "Method not found" };
    text += JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }) + "\n";
  }
  process.stdout.write(text);
});

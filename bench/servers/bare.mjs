// The baseline: the smallest Node program that answers JSON-RPC lines, with batched writes.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  let answers = "";
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    const result =
      method === "tools/call" ? { content: [{ type: "text", text: params.arguments.text }] } : {};
    answers += JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n";
  }
  process.stdout.write(answers);
});

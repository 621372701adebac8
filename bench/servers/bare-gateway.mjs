// The baseline for a gateway: a server behind it, ids rewritten both ways, batched writes.
import { spawn } from "node:child_process";
import { join } from "node:path";

const upstream = spawn(process.execPath, [join(import.meta.dirname, "mcp-upstream.mjs")], {
  stdio: ["pipe", "pipe", "inherit"],
});
const asked = new Map();
let lastId = 0;

pass(process.stdin, upstream.stdin, (message) => {
  if (message.id === undefined) return;
  asked.set(++lastId, message.id);
  message.id = lastId;
});
pass(upstream.stdout, process.stdout, (message) => {
  const { id } = message;
  message.id = asked.get(id);
  asked.delete(id);
});
process.stdin.on("end", () => upstream.stdin.end());

function pass(from, to, rewrite) {
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    let text = "";
    for (const line of lines) {
      const message = JSON.parse(line);
      rewrite(message);
      text += JSON.stringify(message) + "\n";
    }
    to.write(text);
  });
}

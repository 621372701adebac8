// The smallest plugin: a child that echoes on its standard streams.
import { createInterface } from "node:readline";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, params } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ id, result: { text: params.arguments.text } })}\n`);
});

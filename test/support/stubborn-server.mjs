// A program that ends by nothing but SIGKILL. It leaves its number in a file, and in another that it
// was asked to end; it starts a second one that is as stubborn. As an MCP server it answers nothing.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [, , file, isChild] = process.argv;
const asked = (how) => appendFileSync(`${file}.asked`, `${how}\n`);
process.on("SIGTERM", () => asked("SIGTERM"));
process.on("SIGHUP", () => asked("SIGHUP"));
process.stdin.on("end", () => asked("end of input")).resume();
if (isChild === undefined) {
  const stdio = ["pipe", "ignore", "ignore"];
  spawn(process.execPath, [process.argv[1], file, "child"], { stdio });
}
setInterval(() => {}, 1_000);
appendFileSync(file, `${process.pid}\n`);

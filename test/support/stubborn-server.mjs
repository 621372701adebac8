// A program that ends by nothing but SIGKILL. It leaves its number in a file, and starts a second
// one that is as stubborn. As an MCP server it answers nothing.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [, , file, isChild] = process.argv;
process.on("SIGTERM", () => {});
process.on("SIGHUP", () => {});
process.stdin.resume();
appendFileSync(file, `${process.pid}\n`);
if (isChild === undefined) spawn(process.execPath, [process.argv[1], file, "child"]);
setInterval(() => {}, 1_000);

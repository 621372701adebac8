// The process that several plugins share, each in a worker; see plugin-host.ts. It loads hardly any of
// our modules, so that it takes no more memory than Node and the plugins do.
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";

import { LONGEST_LINE, readLines } from "../../base/process/lines.ts";
import type { HostCommand, HostEvent, StartCommand } from "./host-messages.ts";

/** Milliseconds that a plugin has for its own end. */
const GRACE = 1_000;

const workers = new Map<string, Worker>();

const tell = (event: HostEvent): void => {
  process.stdout.write(`${JSON.stringify(event)}\n`);
};

function start({ key, file, args, env, memory }: StartCommand): void {
  const worker = new Worker(file, {
    argv: [...args],
    env,
    // Those of this process are not for modules.
    execArgv: [],
    // An input that stays open: a plugin ends with it.
    ...{ stdin: true, stdout: true, stderr: true },
    resourceLimits: { maxOldGenerationSizeMb: memory },
  });
  workers.set(key, worker);
  for (const output of [worker.stderr, worker.stdout]) {
    readLines(output, (line) => tell({ key, line }));
  }
  worker.on("error", (error: unknown) => {
    const { message = String(error), stack = "" } = error instanceof Error ? error : {};
    // The message comes last: it is told with the reason of its end.
    for (const line of [...stack.split("\n"), message]) {
      tell({ key, line: line.slice(0, LONGEST_LINE) });
    }
  });
  worker.on("exit", (exit) => {
    workers.delete(key);
    // What it said last comes before its end.
    setImmediate(() => tell({ key, exit }));
  });
}

function end(key: string): void {
  const worker = workers.get(key);
  if (worker === undefined) return;
  worker.stdin?.end();
  const late = setTimeout(() => kill(key), GRACE);
  worker.once("exit", () => clearTimeout(late));
}

/** Its exit is told when it comes. */
function kill(key: string): void {
  workers
    .get(key)
    ?.terminate()
    .catch(() => {});
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const command = JSON.parse(line) as HostCommand;
    if ("start" in command) start(command.start);
    else if ("end" in command) end(command.end);
    else kill(command.kill);
  })
  // Its owner has gone.
  .on("close", () => process.exit(0));

// The process that several plugins share, each in a worker; see plugin-host.ts. It loads hardly any of
// our modules, so that it takes no more memory than Node and the plugins do.
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";

import { LONGEST_LINE, readLines } from "../../base/process/lines.ts";
import type { HostCommand, HostEvent, StartCommand } from "./host-messages.ts";

/** Milliseconds that a plugin has for its own end. */
const GRACE = 1_000;

/** What helps a plugin that no worker can run. */
const OWN_PROCESS = 'Give it "process": "own" in the configuration';

const workers = new Map<string, Worker>();

const tell = (event: HostEvent): void => {
  process.stdout.write(`${JSON.stringify(event)}\n`);
};

function open({ file, args, env, memory }: StartCommand): Worker {
  return new Worker(file, {
    argv: [...args],
    env,
    // Those of this process are not for modules.
    execArgv: [],
    // An input that stays open: a plugin ends with it.
    ...{ stdin: true, stdout: true, stderr: true },
    resourceLimits: { maxOldGenerationSizeMb: memory },
  });
}

function explain(key: string, error: unknown, next = ""): void {
  const { message = String(error), stack = "" } = error instanceof Error ? error : {};
  // The message comes last: the last line is shown as the reason of the end.
  for (const line of [...stack.split("\n"), `${message}${next}`]) {
    tell({ key, line: line.slice(0, LONGEST_LINE) });
  }
}

function start(command: StartCommand): void {
  const { key } = command;
  let worker: Worker;
  try {
    worker = open(command);
  } catch (error) {
    // Such as for NODE_OPTIONS that only a whole process can have. The other plugins go on.
    explain(key, error, `. ${OWN_PROCESS}`);
    tell({ key, exit: 1 });
    return;
  }
  workers.set(key, worker);
  for (const output of [worker.stderr, worker.stdout]) {
    readLines(output, (line) => tell({ key, line }));
  }
  worker.on("error", (error: unknown) => explain(key, error));
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

/** The `exit` event reports its end. */
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

import { ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";

import { OpenHandles } from "./open-handles.ts";
import { processesWhere } from "./processes.ts";

// Loaded ahead of every test file by `npm test` and `npm run test:interop` (scripts/task.mjs). The
// file fails if, when its last test is over, a process, socket, timer or temporary folder is left.

/** How long sockets may take to close and processes to die, on a machine that is busy. */
const GRACE = Number(process.env["TRUNKLINE_TEST_GRACE"] ?? 10_000);
/** What other people's programs keep in the temporary folder for their next start: npm's code. */
const CACHES = ["node-compile-cache"];
/** Where Node keeps the sources without their types, for the next process (scripts/task.mjs). */
const COMPILE_CACHE = process.env["NODE_COMPILE_CACHE"];

/** Through which Node starts every child. It has no type, since it is not meant to be called. */
type Spawn = (this: unknown, options: { args: readonly string[]; envPairs: string[] }) => unknown;

// The runner itself has loaded this too, and so do threads and forks of a test.
const isTestFile = isMainThread && process.env["NODE_TEST_CONTEXT"] === "child-v8";
if (isTestFile && /\.test\.m?[jt]s$/.test(process.argv[1] ?? "")) {
  // Short, since sockets are made in it and the path of one is limited to some 100 characters.
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "tl-"));
  // Some tests start programs as another user.
  chmodSync(folder, 0o755);
  process.env["TMPDIR"] = folder;
  markChildren(folder);
  const handles = new OpenHandles();
  after(() => expectNothingLeft(folder, handles));
}

/**
 * Gives each child the temporary folder of this file, also one whose environment was put together by
 * a test. By that path its whole offspring is known, whoever has become its parent.
 */
function markChildren(folder: string): void {
  const { prototype } = ChildProcess as unknown as { prototype: { spawn: Spawn } };
  const { spawn } = prototype;
  prototype.spawn = function (options) {
    const give = (name: string, value: string): void => {
      const isSet = options.envPairs.some((pair) => pair.startsWith(`${name}=`));
      if (!isSet) options.envPairs.push(`${name}=${value}`);
    };
    give("TMPDIR", folder);
    // Not to the built program, which is to start as it does for users.
    const isSource = options.args.some((arg) => arg.endsWith(".ts"));
    if (COMPILE_CACHE !== undefined && isSource) give("NODE_COMPILE_CACHE", COMPILE_CACHE);
    return spawn.call(this, options);
  };
}

async function expectNothingLeft(folder: string, handles: OpenHandles): Promise<void> {
  handles.ignoreNew();
  const running = () =>
    processesWhere(({ environment, command, cwd }) =>
      [cwd, command, ...environment].some((text) => text.includes(folder)),
    ).filter(({ pid }) => !handles.childrenForLife().has(pid));
  const giveUp = performance.now() + GRACE;
  while (performance.now() < giveUp && running().length + handles.others().length > 0) {
    await sleep(20);
  }
  // What was closed a moment ago clears its timers by now. They are given no time to run out.
  for (let round = 0; round < 3; round++) await turn();
  const processes = running();
  const left = [
    ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
    ...handles.others(),
    ...handles.timers(),
    ...readdirSync(folder)
      .filter((name) => !CACHES.includes(name))
      .map((name) => `in the temporary folder: ${name}`),
  ];
  for (const { pid } of processes) process.kill(pid, "SIGKILL");
  rmSync(folder, { recursive: true, maxRetries: 3 });
  if (left.length === 0) return;
  // What is left might keep this process alive for ever.
  setTimeout(() => process.exit(1), 1000).unref();
  const file = relative(process.cwd(), process.argv[1] ?? "");
  throw new Error(`The tests of ${file} have left behind:\n${left.join("\n")}`);
}

import { ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";

import { noteTest } from "./note-test.ts";
import { OpenHandles } from "./open-handles.ts";
import { endProcess, newestProcess, processesOf, type Running } from "./processes.ts";

/** How long sockets may take to close and processes to die, on a machine that is busy. */
const GRACE = Number(process.env["TRUNKLINE_TEST_GRACE"] ?? 60_000);
/** What other people's programs keep in the temporary folder for their next start: npm's code, opencode's. */
const CACHES = ["node-compile-cache", "opencode"];
/** Where Node keeps the sources without their types, for the next process (scripts/task.mjs). */
const COMPILE_CACHE = process.env["NODE_COMPILE_CACHE"];
/** Where the built program keeps its compiled code, over the homes that tests give it. */
export const PROGRAM_CACHE = join(import.meta.dirname, "../../.cache/program");
/** Where the machine has its temporary files: a test file gets a folder there. */
const TEMPORARY = realpathSync(tmpdir());

/** Through which Node starts every child. It has no type, since it is not meant to be called. */
type Spawn = (this: unknown, options: { args: readonly string[]; envPairs: string[] }) => unknown;

/** What the tests of one file leave: processes, sockets, timers, temporary folders. */
export class Leftovers {
  readonly #file: string;
  readonly #folder: string;
  readonly #handles = new OpenHandles();
  readonly #unmarkChildren: () => void;
  readonly #before = newestProcess();

  /** Watches from now on, and gives the file a temporary folder of its own. */
  constructor(file: string) {
    this.#file = file;
    // Short, since sockets are made in it and the path of one is limited to some 100 characters.
    this.#folder = mkdtempSync(join(TEMPORARY, "tl-"));
    // Some tests start programs as another user.
    chmodSync(this.#folder, 0o755);
    process.env["TMPDIR"] = this.#folder;
    this.#unmarkChildren = markChildren(this.#folder);
    process.on("exit", this.#end);
    this.note();
  }

  /** Tells the runner which test runs. */
  note(test?: string): void {
    noteTest({ file: this.#file, folder: this.#folder, test });
  }

  /** Fails if anything is left, when it has had time to end. */
  async expectNone(): Promise<void> {
    this.note();
    this.#handles.ignoreNew();
    const giveUp = performance.now() + GRACE;
    let processes = this.#processes();
    while (performance.now() < giveUp && processes.length + this.#handles.others().length > 0) {
      await sleep(20);
      processes = this.#processes();
    }
    // What was closed a moment ago clears its timers by now. They are given no time to run out.
    for (let round = 0; round < 3; round++) await turn();
    const left = [
      ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
      ...this.#handles.others(),
      ...this.#handles.timers(),
      ...readdirSync(this.#folder)
        .filter((name) => !CACHES.includes(name))
        .map((name) => `in the temporary folder: ${name}`),
    ];
    this.#unmarkChildren();
    this.#handles.stop();
    process.off("exit", this.#end);
    this.#remove(processes);
    if (left.length === 0) return;
    throw new Error(`The tests of ${this.#file} have left behind:\n${left.join("\n")}`);
  }

  #processes(): Running[] {
    const forLife = this.#handles.childrenForLife();
    return processesOf(this.#folder, this.#before).filter(({ pid }) => !forLife.has(pid));
  }

  /** If this process ends before its tests do. */
  readonly #end = (): void => this.#remove(this.#processes());

  #remove(processes: readonly Running[]): void {
    for (const { pid } of processes) endProcess(pid);
    rmSync(this.#folder, { recursive: true, maxRetries: 3 });
  }
}

/** What is left might keep this process alive for ever. */
export function endInSpiteOfLeftovers(): void {
  setTimeout(() => process.exit(1), 1000).unref();
}

/**
 * Gives each child the temporary folder of this file, also one whose environment was put together by
 * a test. By that path its whole offspring is known, whoever has become its parent.
 */
function markChildren(folder: string): () => void {
  const { prototype } = ChildProcess as unknown as { prototype: { spawn: Spawn } };
  const { spawn } = prototype;
  prototype.spawn = function (options) {
    const give = (name: string, value: string): void => {
      const isSet = options.envPairs.some((pair) => pair.startsWith(`${name}=`));
      if (!isSet) options.envPairs.push(`${name}=${value}`);
    };
    give("TMPDIR", folder);
    const isStarted = (end: string): boolean => options.args.some((arg) => arg.endsWith(end));
    if (COMPILE_CACHE !== undefined && isStarted(".ts")) give("NODE_COMPILE_CACHE", COMPILE_CACHE);
    // The built program starts as it does for users, who start it more than once.
    if (isStarted("dist/trunkline.js")) give("XDG_CACHE_HOME", PROGRAM_CACHE);
    return spawn.call(this, options);
  };
  return () => (prototype.spawn = spawn);
}

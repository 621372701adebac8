import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import { closeStreams } from "../base/process/close-streams.ts";
import { absolutePath } from "../base/process/environment.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Stop } from "../base/stop.ts";
import { ProcessTree } from "../base/process/process-tree.ts";
import { killGroup, killTree, watchGroup } from "../base/process/watchdog.ts";

export interface ProgramRun {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** What it reads; nothing when left out. */
  readonly input?: string | Buffer;
  /** A secret that the program reads from descriptor 3; it is in no argument, variable or file. */
  readonly secret?: string | undefined;
  /** Milliseconds after which it is killed with all that it started. */
  readonly timeout: number;
  /** Bytes it may write to stdout. */
  readonly maxOutput: number;
  /** Cancels the run: SIGTERM, then SIGKILL for it and everything it started. */
  readonly stop?: Stop | undefined;
}

/** How a program ended that was run to its end. */
export interface ProgramEnd {
  readonly code: number | NodeJS.Signals;
  readonly stdout: Buffer;
  /** The beginning of its stderr. */
  readonly stderr: string;
}

const MAX_STDERR = 16 * 1024;
/**
 * Milliseconds after which a watchdog ends the program if we are killed. Starting the watchdog
 * earlier would cost more than most programs take.
 */
const BRIEF = 250;
/** Milliseconds between SIGTERM and SIGKILL: on SIGTERM git removes its lock files. */
const STOP_GRACE = 1_000;

const running = new Set<number>();
let isMindingExit = false;

/** Runs a program in a process group of its own. Throws when it cannot start or breaks a limit. */
export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  // Loaded with the first program, so that a start without one is faster.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(run.command, [...run.args], {
    stdio: [
      run.input === undefined ? "ignore" : "pipe",
      "pipe",
      "pipe",
      ...(run.secret === undefined ? [] : ["pipe" as const]),
    ],
    detached: true,
    env: { ...run.env, PATH: absolutePath(run.env.PATH) },
    ...(run.cwd === undefined ? {} : { cwd: run.cwd }),
  });
  const { pid } = child;
  if (pid === undefined) {
    const error = await new Promise<Error>((resolve) => child.on("error", resolve));
    throw new TrunklineError("unavailable", `Cannot start '${run.command}': ${error.message}`, {
      cause: error,
    });
  }
  return await finish(child, pid, run);
}

async function finish(child: ChildProcess, pid: number, run: ProgramRun): Promise<ProgramEnd> {
  let failure: Error | undefined;
  let tree: ProcessTree | undefined;
  // Before the signal: afterwards the parent of its children is no longer known.
  const look = (): void => (tree ??= new ProcessTree(pid)).lookNow();
  const giveUp = (error: Error): void => {
    failure ??= error;
    look();
    killGroup(pid, "SIGKILL");
  };
  let grace: NodeJS.Timeout | undefined;
  const listener = {
    stopped: (reason: Error) => {
      failure ??= reason;
      look();
      killGroup(pid, "SIGTERM");
      grace = setTimeout(giveUp, STOP_GRACE, reason);
    },
  };
  run.stop?.add(listener);
  const called = [run.command, ...run.args.slice(0, 2)].join(" ");
  const stdout = collect(child.stdout, run.maxOutput, () => {
    const says = `'${called}' wrote more than its limit of ${run.maxOutput} bytes`;
    giveUp(new TrunklineError("limit", says));
  });
  const stderr = collect(child.stderr, MAX_STDERR, () => {});
  const timer = setTimeout(() => {
    giveUp(new TrunklineError("timeout", `'${called}' did not finish within ${run.timeout} ms`));
  }, run.timeout);
  const letGo = own(pid);
  // A program that does not read all input says so by its exit code.
  child.stdin?.on("error", () => {});
  child.stdin?.end(run.input);
  if (run.secret !== undefined) {
    const descriptor = child.stdio[3] as Writable;
    descriptor.on("error", () => {});
    descriptor.end(run.secret);
  }
  try {
    const code = await ended(child);
    if (failure !== undefined) {
      await tree?.clear();
      throw failure;
    }
    return { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString("utf8") };
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    run.stop?.remove(listener);
    letGo();
  }
}

function collect(stream: Readable | null, most: number, tooMuch: () => void): Buffer[] {
  const chunks: Buffer[] = [];
  let left = most;
  stream?.on("data", (chunk: Buffer) => {
    if (left > 0) chunks.push(chunk.subarray(0, left));
    if (chunk.length > left) tooMuch();
    left = Math.max(0, left - chunk.length);
  });
  stream?.on("error", () => {});
  return chunks;
}

function ended(child: ChildProcess): Promise<number | NodeJS.Signals> {
  return new Promise((resolve) => {
    let callOff: (() => void) | undefined;
    child.on("exit", () => (callOff = closeStreams(child.stdout, child.stderr)));
    child.on("close", (code, signal) => {
      callOff?.();
      resolve(code ?? signal ?? 0);
    });
  });
}

/** Ends the process group when we end. Returns a function that stops doing so. */
function own(pid: number): () => void {
  running.add(pid);
  if (!isMindingExit) {
    isMindingExit = true;
    process.on("exit", () => {
      for (const group of running) killTree(group);
    });
  }
  let release: (() => void) | undefined;
  const timer = setTimeout(() => {
    release = watchGroup(pid);
  }, BRIEF);
  return () => {
    clearTimeout(timer);
    running.delete(pid);
    release?.();
  };
}

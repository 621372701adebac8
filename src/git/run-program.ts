import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import { Readable, type Writable } from "node:stream";

import { onAbort } from "../base/abort.ts";
import { TrunklineError } from "../base/errors.ts";
import { closeStreams } from "../base/process/close-streams.ts";
import { absolutePath } from "../base/process/environment.ts";
import { ProcessTree } from "../base/process/process-tree.ts";
import { killGroup, killTree, watchGroup } from "../base/process/watchdog.ts";
import { couldNotStart, giveBack, type ProgramShell, takeShell } from "./program-shell.ts";

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
  const shell = takeShell(run);
  if (shell !== undefined) {
    const end = await runInShell(shell, run);
    // Started without a shell, the system says why that cannot be done.
    if (!couldNotStart(end.code)) return end;
  }
  return await supervise(run, "", (stdout, stderr) => start(run, stdout, stderr));
}

async function runInShell(shell: ProgramShell, run: ProgramRun): Promise<ProgramEnd> {
  try {
    const end = await supervise(run, shell.mark, (stdout, stderr) =>
      shell.run(run, stdout, stderr),
    );
    giveBack(shell);
    return end;
  } catch (error) {
    shell.kill();
    throw error;
  }
}

async function start(
  run: ProgramRun,
  stdout: ProgramOutput,
  stderr: ProgramOutput,
): Promise<RunningProgram> {
  const child = spawned(run);
  const { pid: group } = child;
  if (group === undefined) {
    throw unstarted(run, await new Promise<Error>((resolve) => child.on("error", resolve)));
  }
  child.stdout?.on("data", (chunk: Buffer) => stdout.add(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.add(chunk));
  // A program that does not read all input says so by its exit code.
  child.stdin?.on("error", () => {});
  const { stdin } = child;
  if (run.input instanceof Readable && stdin !== null) {
    // If it cannot be read to its end, the input just ends: the program may not need all of it.
    run.input.on("error", () => stdin.end()).pipe(stdin);
  } else stdin?.end(run.input);
  if (run.secret !== undefined) {
    const descriptor = child.stdio[3] as Writable;
    descriptor.on("error", () => {});
    descriptor.end(run.secret);
  }
  return { group, code: ended(child) };
}

function spawned(run: ProgramRun): ChildProcess {
  // Loaded with the first program, so that a start without one is faster.
  const { spawn } = process.getBuiltinModule("node:child_process");
  try {
    return spawn(run.command, [...run.args], {
      stdio: [
        run.input === undefined ? "ignore" : "pipe",
        "pipe",
        "pipe",
        ...(run.secret === undefined ? [] : ["pipe" as const]),
        ...(run.files ?? []),
      ],
      detached: true,
      env: { ...run.env, PATH: absolutePath(run.env.PATH) },
      ...(run.cwd === undefined ? {} : { cwd: run.cwd }),
    });
  } catch (error) {
    // Node throws some reasons, such as a file in the place of the folder, and emits others.
    throw unstarted(run, error as Error);
  } finally {
    for (const file of run.files ?? []) closeSync(file);
  }
}

function unstarted({ command }: ProgramRun, cause: Error): TrunklineError {
  const says = `Cannot start '${command}': ${cause.message}`;
  return new TrunklineError("unavailable", says, { cause });
}

/** Holds a program to its limits. */
async function supervise(
  run: ProgramRun,
  mark: string,
  begin: (stdout: ProgramOutput, stderr: ProgramOutput) => RunningProgram | Promise<RunningProgram>,
): Promise<ProgramEnd> {
  const called = [run.command, ...run.args.slice(0, 2)].join(" ");
  const stdout = collectOutput(
    run.maxOutput,
    () => {
      const says = `'${called}' wrote more than its limit of ${run.maxOutput} bytes`;
      giveUp(new TrunklineError("limit", says));
    },
    mark,
  );
  const stderr = collectOutput(MAX_STDERR, () => {}, mark);
  const { group, code: ending } = await begin(stdout, stderr);
  let failure: Error | undefined;
  let tree: ProcessTree | undefined;
  // Before the signal: afterwards the parent of its children is no longer known.
  const look = (): void => (tree ??= new ProcessTree(group)).lookNow();
  const giveUp = (error: Error): void => {
    failure ??= error;
    look();
    killGroup(group, "SIGKILL");
  };
  let grace: NodeJS.Timeout | undefined;
  const stopListening = onAbort(run.signal, (reason) => {
    failure ??= reason;
    look();
    killGroup(group, "SIGTERM");
    grace = setTimeout(giveUp, STOP_GRACE, reason);
  });
  const timer = setTimeout(() => {
    giveUp(new TrunklineError("timeout", `'${called}' did not finish within ${run.timeout} ms`));
  }, run.timeout);
  const letGo = own(group);
  try {
    const code = await ending;
    if (failure !== undefined) {
      await tree?.clear();
      throw failure;
    }
    return { code, stdout: stdout.bytes, stderr: stderr.bytes.toString("utf8") };
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    stopListening();
    letGo();
  }
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

/** A program that is run to its end. */
export interface ProgramRun {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** What it reads; nothing when left out. */
  readonly input?: string | Buffer | Readable;
  /** A secret that the program reads from descriptor 3; it is in no argument, variable or file. */
  readonly secret?: string | undefined;
  /** Open files that it inherits from descriptor 3 on, instead of a secret. They are closed here. */
  readonly files?: readonly number[] | undefined;
  /** Milliseconds after which it is killed with all that it started. */
  readonly timeout: number;
  /** Bytes it may write to stdout. */
  readonly maxOutput: number;
  /** Cancels the run: SIGTERM, then SIGKILL for it and everything it started. */
  readonly signal?: AbortSignal | undefined;
  /** It starts no other program that could outlive it, so a shell may start it (program-shell.ts). */
  readonly isAlone?: boolean;
}

/** How a program ended that was run to its end. */
export interface ProgramEnd {
  /** 128 plus the number of the signal, if a shell started the program and a signal ended it. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: Buffer;
  /** The beginning of its stderr. */
  readonly stderr: string;
}

/** A program that was started. */
export interface RunningProgram {
  /** The number of its process group. */
  readonly group: number;
  /** Resolves when it has ended and all that it wrote is read. */
  readonly code: Promise<number | NodeJS.Signals>;
}

/** Bytes after a program's output: the mark of a shell, and an exit code of three digits. */
const CODE_LENGTH = 3;

/** What a program writes to one stream, up to a limit. `mark` ends it, if several programs share the stream. */
export function collectOutput(most: number, tooMuch: () => void, mark = "") {
  const chunks: Buffer[] = [];
  let tail = Buffer.alloc(0);
  let length = 0;
  const after = mark === "" ? 0 : mark.length + CODE_LENGTH;
  return {
    add(chunk: Buffer): void {
      if (length < most) chunks.push(chunk);
      length += chunk.length;
      if (after > 0) tail = Buffer.concat([tail, chunk.subarray(-after)]).subarray(-after);
      if (length - after > most) tooMuch();
    },

    /** The exit code, once the mark is there. */
    get code(): number | undefined {
      const text = tail.toString("latin1");
      return text !== "" && text.startsWith(mark) ? Number(text.slice(mark.length)) : undefined;
    },

    get bytes(): Buffer {
      return Buffer.concat(chunks).subarray(0, Math.min(length - tail.length, most));
    },
  };
}

export type ProgramOutput = ReturnType<typeof collectOutput>;

import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

import { background } from "../background.ts";
import { TrunklineError } from "../errors.ts";
import { isFolder } from "../file/path.ts";
import { readLines } from "./lines.ts";
import { ownerMark, ProcessTree } from "./process-tree.ts";
import { killGroup, startWatchdog, watchGroup } from "./watchdog.ts";

export interface ChildOptions {
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** What it works for, such as a session (see `ownerMark`). */
  readonly serves?: string | undefined;
  /** Milliseconds between closing its input, SIGTERM, and SIGKILL. */
  readonly grace?: number;
  /** Each line it writes to stderr, cut to a bounded length. */
  readonly stderr?: (line: string) => void;
  /**
   * Receives the handles that the child sends, such as a listener in its own network namespace. The
   * channel is closed after the last one, which has `isLast`.
   */
  readonly takes?: ((handle: unknown, said: HandleMessage) => void) | undefined;
  /** Open files that it inherits, as its descriptors from 3 on. They are closed here once it runs. */
  readonly files?: readonly number[] | undefined;
}

/** Changes how a program is started, for example to run it in a sandbox. */
export type Confiner = (options: ChildOptions) => ChildOptions;

/** The message that a child sends with each handle. */
export interface HandleMessage {
  readonly isLast: boolean;
  /** Why it has no handle to send. */
  readonly problem?: string;
}

/** How a child ended: its exit code, or the signal that ended it. */
export type ChildExit = number | NodeJS.Signals;

const GRACE = 1_000;

/**
 * A child process that this process owns, with everything that it starts. It has a process group of its own;
 * a descendant that leaves the group is found by a mark in its environment (process-tree.ts). Nothing of it
 * outlives this process (watchdog.ts).
 */
export class OwnedChild implements AsyncDisposable {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when it is over. */
  readonly exit: Promise<ChildExit>;
  /** Resolves when everything that it started has ended too. */
  readonly gone: Promise<void>;
  readonly #tree: ProcessTree;
  readonly #grace: number;
  #ending: Promise<void> | undefined;
  #isOver = false;

  private constructor(
    child: ChildProcessWithoutNullStreams,
    tree: ProcessTree,
    pid: number,
    options: ChildOptions,
  ) {
    this.pid = pid;
    this.#tree = tree;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.#grace = options.grace ?? GRACE;
    const release = watchGroup(pid);
    const exit = Promise.withResolvers<ChildExit>();
    this.exit = exit.promise;
    const gone = Promise.withResolvers<void>();
    this.gone = gone.promise;
    child.on("exit", (code, signal) => {
      this.#isOver = true;
      // Ends what it had started and left behind.
      killGroup(pid, "SIGKILL");
      exit.resolve(code ?? signal ?? 0);
      background(
        tree.clear().finally(() => {
          release();
          gone.resolve();
        }),
        "Ending what a child had started",
      );
    });
    // A child that has exited does not read; its exit is reported by `exit`.
    child.stdin.on("error", () => {});
    const tell = options.stderr ?? (() => {});
    readLines(child.stderr, tell);
  }

  /** Starts it. Throws "unavailable" when that cannot be done. */
  static async start(options: ChildOptions): Promise<OwnedChild> {
    const { command, args = [], env, cwd, takes, serves, files = [] } = options;
    // Loaded with the first child: a start that needs none does not wait for it.
    const { spawn } = process.getBuiltinModule("node:child_process");
    startWatchdog();
    const { mark, env: marked } = ownerMark(serves);
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn(command, [...args], {
        stdio: ["pipe", "pipe", "pipe", ...files, ...(takes === undefined ? [] : ["ipc" as const])],
        detached: true,
        env: { ...env, ...marked },
        ...(cwd === undefined ? {} : { cwd }),
      }) as ChildProcessWithoutNullStreams;
    } catch (error) {
      // Node throws some reasons, such as a file in the place of the folder, and emits others.
      throw unstarted(options, error as Error);
    } finally {
      for (const file of files) closeSync(file);
    }
    const { pid } = child;
    if (takes !== undefined) {
      child.on("message", (said: HandleMessage, handle) => {
        takes(handle, said);
        // A child that goes on handing out waits for this.
        child.send("taken", () => {
          if (said.isLast && child.connected) child.disconnect();
        });
      });
    }
    if (pid !== undefined) return new OwnedChild(child, new ProcessTree(pid, mark), pid, options);
    throw unstarted(options, await new Promise<Error>((resolve) => child.on("error", resolve)));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Closes its input; if it is still there after the grace, terminates and then kills its group.
   * What it started ends with it.
   */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Ends it at once, with all that it started. */
  kill(): void {
    if (this.#isOver) return;
    this.#tree.killNow();
    killGroup(this.pid, "SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #end(): Promise<void> {
    // After its exit, descendants without the mark can no longer be found, and marked ones are found anyway.
    if (!this.#isOver) await this.#tree.look(() => this.#isOver);
    await this.#stop();
    await this.gone;
  }

  async #stop(): Promise<void> {
    this.stdin.end();
    // Nobody reads its output any more, and a full pipe must not keep it from exiting.
    this.stdout.resume();
    if (await this.#exits()) return;
    killGroup(this.pid, "SIGTERM");
    if (await this.#exits()) return;
    killGroup(this.pid, "SIGKILL");
    await this.exit;
  }

  async #exits(): Promise<boolean> {
    if (this.#isOver) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, this.#grace, false);
    });
    const hasExited = await Promise.race([this.exit.then(() => true), late]);
    clearTimeout(timer);
    return hasExited;
  }
}

function unstarted({ command, cwd }: ChildOptions, cause: Error): TrunklineError {
  const says = `Cannot start '${command}': ${explain(cause, cwd)}`;
  return new TrunklineError("unavailable", says, { cause });
}

function explain(error: NodeJS.ErrnoException, cwd: string | undefined): string {
  // The system has the same code for a missing folder as for a missing program.
  if (cwd !== undefined && !isFolder(cwd)) return `there is no folder '${cwd}' to start it in.`;
  if (error.code === "ENOENT") return "no such program. Check the command, or install it.";
  if (error.code === "EACCES") return "it may not be executed";
  return error.message;
}

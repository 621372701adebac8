import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";

import { endAll, livingTree } from "./process-tree.ts";

export const ROOT = join(import.meta.dirname, "../..");

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The executable; the one that runs the bench when left out. */
  readonly node?: string;
  /** The project's own folder when left out. */
  readonly cwd?: string;
  /** Types of the streams after stderr. */
  readonly more?: readonly "ipc"[];
}

/** A Node program that is measured. It ends with its owner, and its failure fails the owner. */
export class Program implements AsyncDisposable {
  readonly pid: number;
  /** Rejects when the program ends without having been asked to. */
  readonly failed: Promise<never>;
  readonly #child: ChildProcess;
  readonly #exited = Promise.withResolvers<void>();
  #isEnding = false;

  constructor(args: readonly string[], options: ProgramOptions = {}) {
    const { node = process.execPath, env = {}, cwd = ROOT, more = [] } = options;
    const stdio: StdioOptions = ["pipe", "pipe", "pipe", ...more];
    const child = spawn(node, args, {
      cwd,
      env: { ...plainEnvironment(), ...env },
      stdio,
    });
    const failed = Promise.withResolvers<never>();
    const complaints = child.stderr === null ? Promise.resolve("") : text(child.stderr);
    child.on("error", failed.reject);
    // A broken pipe is reported by the exit.
    for (const stream of child.stdio) stream?.on("error", () => {});
    child.on("exit", (code, signal) => {
      this.#exited.resolve();
      if (this.#isEnding && code === 0) return;
      const how = signal === null ? `with code ${code}` : `by ${signal}`;
      void complaints.then((said) => {
        failed.reject(new Error(`${args.join(" ")} ended ${how}\n${said}`));
      });
    });
    failed.promise.catch(() => {});
    this.failed = failed.promise;
    this.#child = child;
    this.pid = child.pid ?? NaN;
  }

  get stdin(): Writable {
    return this.#stream(0) as Writable;
  }

  get stdout(): Readable {
    return this.#stream(1) as Readable;
  }

  /** Waits for something that the program must do, or for its failure. */
  async until<T>(event: Promise<T>): Promise<T> {
    return await Promise.race([event, this.failed]);
  }

  nextMessage(): Promise<unknown> {
    return this.until(new Promise((resolve) => this.#child.once("message", resolve)));
  }

  /** Closes the program's input, which must make it exit with 0. */
  async finish(): Promise<void> {
    this.#isEnding = true;
    if (this.#child.connected) this.#child.disconnect();
    this.stdin.end();
    await this.until(this.#exited.promise);
  }

  /** Ends the program with all that it started, which might still write to a folder that is removed next. */
  async [Symbol.asyncDispose](): Promise<void> {
    const [, ...others] = livingTree(this.pid);
    this.#child.kill("SIGKILL");
    await this.#exited.promise;
    await endAll(others);
  }

  #stream(at: number): Readable | Writable {
    const stream = this.#child.stdio[at];
    if (stream === null || stream === undefined) throw new Error(`No stream ${at} was asked for`);
    return stream;
  }
}

/** The environment without variables that change how Node runs a program. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("NODE_")),
  );
}

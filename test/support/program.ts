import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
/** What `npm run build` makes; `npm test` builds before it runs. */
const BUILT = join(ROOT, "dist/trunkline.js");

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Another copy of the program than that of this checkout, and of its Node. */
  readonly built?: string;
  readonly node?: string;
  /** A command that runs it in some surroundings, and whose process becomes it. */
  readonly within?: readonly string[];
  /** Options of Node itself. */
  readonly nodeArgs?: readonly string[];
}

/**
 * The built program as a user runs it, in a home of its own. Disposing kills what is left of it and
 * fails when it had to.
 */
export class Program implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly home = mkdtempSync(join(tmpdir(), "trunkline-home-"));
  /** Lines of stdout. */
  readonly lines: string[] = [];
  stderr = "";
  /** Resolves to the exit code, or to the signal that ended it. */
  readonly exit: Promise<number | NodeJS.Signals>;
  readonly #changed = new EventEmitter();
  #isRunning = true;

  constructor(args: readonly string[], options: ProgramOptions = {}) {
    const { PATH = "" } = process.env;
    const env = { PATH, HOME: this.home, ...options.env };
    const { built = BUILT, node = process.execPath, cwd = this.home } = options;
    const { within = [], nodeArgs = [] } = options;
    const words = [...within, node, ...nodeArgs, built, ...args];
    const [command = "", ...rest] = words;
    this.child = spawn(command, rest, { env, cwd });
    let unfinished = "";
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop() ?? "";
      this.lines.push(...lines);
      this.#changed.emit("change");
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#changed.emit("change");
    });
    this.child.stdin.on("error", () => {});
    this.exit = once(this.child, "close").then(([code, signal]) => {
      this.#isRunning = false;
      this.#changed.emit("change");
      return (code ?? signal) as number | NodeJS.Signals;
    });
  }

  write(...messages: unknown[]): void {
    for (const message of messages) {
      const line = typeof message === "string" ? message : JSON.stringify(message);
      this.child.stdin.write(`${line}\n`);
    }
  }

  async until(condition: (program: this) => boolean): Promise<void> {
    while (!condition(this)) {
      if (!this.#isRunning) throw new Error(`The program ended early. stderr: ${this.stderr}`);
      await once(this.#changed, "change");
    }
  }

  /**
   * Waits until it has said so on stderr. What it wrote to stdout later may be read here sooner, since
   * these are two pipes.
   */
  async says(words: RegExp): Promise<void> {
    await this.until(({ stderr }) => words.test(stderr));
  }

  /** Waits for so many lines in all, and gives them as values. */
  async answers(count: number): Promise<Record<string, never>[]> {
    await this.until(({ lines }) => lines.length >= count);
    return this.lines.map((line) => JSON.parse(line) as Record<string, never>);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const wasRunning = this.#isRunning;
    if (wasRunning) this.child.kill("SIGKILL");
    await this.exit;
    rmSync(this.home, { recursive: true });
    if (wasRunning) throw new Error("The program was still running at the end of the test");
  }
}

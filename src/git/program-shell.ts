import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { resolve } from "node:path";

import { closeStreams } from "../base/process/close-streams.ts";
import { absolutePath } from "../base/process/environment.ts";
import { killGroup } from "../base/process/watchdog.ts";
import { shellQuote } from "../base/text/shell-word.ts";
import type { ProgramOutput, ProgramRun, RunningProgram } from "./run-program.ts";

/** Programs that are started without a shell first: many commands run no more. */
const MOST_WITHOUT = 2;
const MOST_SHELLS = 8;
/** Milliseconds after which shells end that had nothing to start. */
const IDLE = 30_000;
/** More characters are passed faster by a pipe. */
const MOST_INPUT = 32 * 1024;
/** Exit codes of a shell that cannot start a program (POSIX, 2.8.2). */
const NOT_STARTED = [126, 127];

const idle: ProgramShell[] = [];
let withoutShell = 0;
let shells = 0;
let isMissing = false;
let ending: NodeJS.Timeout | undefined;

/** A shell that can start this program. Undefined if it is better started without one. */
export function takeShell(run: ProgramRun): ProgramShell | undefined {
  if (run.isAlone !== true || !isSayable(run) || withoutShell++ < MOST_WITHOUT) return undefined;
  for (let shell = idle.pop(); shell !== undefined; shell = idle.pop()) {
    if (!shell.isOver) return shell;
  }
  if (shells >= MOST_SHELLS || isMissing) return undefined;
  const shell = ProgramShell.start();
  isMissing = shell === undefined;
  return shell;
}

/** Takes a shell back whose program has ended. */
export function giveBack(shell: ProgramShell): void {
  shell.rest();
  idle.push(shell);
  ending ??= setTimeout(endIdle, IDLE).unref();
  ending.refresh();
}

export function couldNotStart(code: number | NodeJS.Signals): boolean {
  return NOT_STARTED.some((each) => each === code);
}

function endIdle(): void {
  for (const shell of idle.splice(0)) shell.end();
}

/** Whether a shell's language can express it. */
function isSayable({ args, cwd = "", env, input = "", secret, files }: ProgramRun): boolean {
  if (secret !== undefined || files !== undefined) return false;
  if (typeof input !== "string" || input.length > MOST_INPUT) return false;
  const names = Object.keys(env);
  const texts = [input, cwd, ...args, ...Object.values(env)];
  return (
    names.every((name) => /^[A-Za-z_]\w*$/.test(name)) &&
    texts.every((text) => !text?.includes("\0"))
  );
}

/**
 * Starts programs for us. Node starts a program by fork(), which copies the page tables: it stops a
 * gateway of 200 MB for 16 ms, and a shell of 1 MB for one. The shell starts one program at a time,
 * and the next when that has ended.
 *
 * Its programs share its output, so they must not start other programs: a program that is left behind
 * would write into the output of the next one.
 */
export class ProgramShell {
  readonly group: number;
  readonly #child: ChildProcess;
  readonly #sockets: readonly Socket[];
  /** What the shell writes to both streams after each program. No program knows it. */
  readonly mark = crypto.randomUUID();
  #isOver = false;
  #running: { stdout: ProgramOutput; stderr: ProgramOutput; end(): void } | undefined;

  private constructor(child: ChildProcess, pid: number) {
    this.group = pid;
    this.#child = child;
    const { stdin, stdout, stderr } = child;
    // Every pipe of Node's to a child is a socket.
    this.#sockets = [stdin, stdout, stderr] as unknown as Socket[];
    stdin?.on("error", () => {});
    stdout?.on("data", (chunk: Buffer) => {
      this.#running?.stdout.add(chunk);
      this.#look();
    });
    stderr?.on("data", (chunk: Buffer) => {
      this.#running?.stderr.add(chunk);
      this.#look();
    });
    shells++;
    let callOff: (() => void) | undefined;
    child.on("exit", () => {
      shells--;
      this.#isOver = true;
      callOff = closeStreams(stdout, stderr);
    });
    child.on("close", () => callOff?.());
  }

  /** Undefined where there is no shell. */
  static start(): ProgramShell | undefined {
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn("/bin/sh", ["-s"], {
      stdio: "pipe",
      // In a group of its own, by which a program is ended together with its shell.
      detached: true,
      cwd: "/",
      env: { LC_ALL: "C" },
    });
    child.on("error", () => {});
    if (child.pid === undefined) return undefined;
    // SIGTERM is meant for the program, and the shell waits for its end.
    child.stdin.write("trap : TERM\n");
    return new ProgramShell(child, child.pid);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  run(run: ProgramRun, stdout: ProgramOutput, stderr: ProgramOutput): RunningProgram {
    this.#child.ref();
    for (const socket of this.#sockets) socket.ref();
    const code = new Promise<number | NodeJS.Signals>((resolve) => {
      const closed = (exit: number | null, signal: NodeJS.Signals | null): void => {
        resolve(exit ?? signal ?? 0);
      };
      this.#child.once("close", closed);
      const end = (): void => {
        this.#child.off("close", closed);
        resolve(stdout.code ?? 0);
      };
      this.#running = { stdout, stderr, end };
    });
    this.#child.stdin?.write(script(run, this.mark));
    return { group: this.group, code };
  }

  /** Lets this process end although the shell has not. */
  rest(): void {
    this.#child.unref();
    for (const socket of this.#sockets) socket.unref();
  }

  end(): void {
    this.#child.stdin?.end();
  }

  /** Ends it together with its program. */
  kill(): void {
    killGroup(this.group, "SIGKILL");
  }

  #look(): void {
    const running = this.#running;
    if (running?.stdout.code === undefined || running.stderr.code === undefined) return;
    this.#running = undefined;
    running.end();
  }
}

/** Variables are exported by the shell itself: as arguments of a program, everybody could read them. */
function script({ command, args, cwd, env, input }: ProgramRun, mark: string): string {
  const variables = Object.entries({ ...env, PATH: absolutePath(env.PATH) }).map(([name, value]) =>
    value === undefined ? "" : ` ${name}=${shellQuote(value)}`,
  );
  const said = typeof input === "string" ? `printf %s ${shellQuote(input)} | ` : "";
  const end = `printf %s%03d ${mark} $code`;
  return `${said}(
cd -P -- ${shellQuote(resolve(cwd ?? ""))} || exit 126
unset LC_ALL TMPDIR PWD OLDPWD SHLVL
export${variables.join("")}
exec ${[command, ...args].map(shellQuote).join(" ")}
)${input === undefined ? " </dev/null" : ""}
code=$?; ${end}; ${end} >&2
`;
}

import { currentSession } from "../base/background.ts";
import {
  type ChildExit,
  type ChildOptions,
  type Confiner,
  OwnedChild,
} from "../base/process/child-process.ts";
import { readOutput } from "../base/process/read-output.ts";
import { shellQuote } from "../base/text/shell-word.ts";

export interface HookProcess {
  readonly command: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The JSON that it reads from its standard input. */
  readonly input: unknown;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  readonly confine?: Confiner | undefined;
}

/** How a hook ended. */
export interface HookEnd {
  readonly exit: ChildExit;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it was ended early. */
  readonly cut?: "late" | "long" | undefined;
}

/** Characters of each output. */
const MOST_OUTPUT = 256 * 1024;
const MOST_ERRORS = 16 * 1024;

/**
 * Runs the command of a hook in a process group of its own, which ends with it, at its timeout and when
 * the signal is aborted. Throws "unavailable" if it cannot be started, and the reason of the signal.
 */
export async function runHook(hook: HookProcess): Promise<HookEnd> {
  const { command, cwd, env, input, timeout, signal, confine } = hook;
  signal.throwIfAborted();
  let stderr = "";
  // The shell waits for the first line, which is sent once the process is watched. The folder is said
  // here, since a sandbox passes on only variables that it knows.
  const where = `CLAUDE_PROJECT_DIR=${shellQuote(cwd)}; export CLAUDE_PROJECT_DIR`;
  const program: ChildOptions = {
    command: "/bin/sh",
    args: ["-c", `read -r _ || exit\n${where}\n${command}`],
    env,
    cwd,
    serves: currentSession(),
    stderr: (line) => {
      if (stderr.length < MOST_ERRORS) stderr += `${line}\n`;
    },
  };
  const child = await OwnedChild.start(confine?.(program) ?? program);
  let stdout = "";
  let cut: HookEnd["cut"];
  const stop = (why: HookEnd["cut"]): void => {
    cut ??= why;
    child.kill();
  };
  const heard = (text: string): void => {
    if (stdout.length + text.length > MOST_OUTPUT) stop("long");
    else stdout += text;
  };
  using _ = setTimeout(stop, timeout, "late");
  child.stdin.end(`\n${JSON.stringify(input)}\n`);
  const exit = await readOutput(child, heard, signal);
  return { exit, stdout, stderr: stderr.trim(), cut };
}

import { setTimeout as delay } from "node:timers/promises";

import { currentSession } from "../../base/background.ts";
import { type Confiner, OwnedChild } from "../../base/process/child-process.ts";
import { untilAborted } from "../../base/abort.ts";
import type { TerminalHost } from "../../session/agent.ts";
import {
  type AgentIdentity,
  harmlessVariables,
  identityVariables,
  loginPath,
} from "../command-environment.ts";
import type { Countdown } from "../tools/countdown.ts";
import { type BoundedText, readBounded } from "./read-bounded.ts";

export interface CommandLine {
  /** Command line for a shell. */
  readonly line: string;
  readonly cwd: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** The identity for git. */
  readonly identity?: AgentIdentity | undefined;
  readonly confine?: Confiner | undefined;
  /** Called with a function that pauses the timeout while a person is asked. */
  readonly pauses?: (pausedWhile: Countdown["pausedWhile"]) => void;
}

export interface LineEnd {
  readonly output: string;
  /** How it ended, in words: "exit code 1". */
  readonly end: string;
  readonly isOk: boolean;
}

const MOST_OUTPUT = 30_000;

/**
 * The shell waits for a line on stdin, which is sent once the watchdog runs: if this process was killed
 * before that, the command would be left running. Both outputs go to one stream, to keep their order.
 */
export const WHEN_WATCHED = "read -r _ || exit\nexec 2>&1\n";

/** Keeps programs from asking questions and from using a pager. */
const QUIET = { PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0", GIT_EDITOR: "true" };

/** Starts a command line in its own process group, without our secrets. */
export async function startLine(
  command: Pick<CommandLine, "line" | "cwd" | "identity" | "confine">,
) {
  const { line, cwd, identity, confine } = command;
  const variables = harmlessVariables(process.env);
  const env = { ...variables, PATH: await loginPath(variables), ...QUIET };
  // A sandbox keeps a command from secrets, so it gets no token either.
  const own =
    confine === undefined ? identity?.processEnvironment(env) : identity?.environment(env);
  /** Errors of the program that starts the line. The line's own errors are in its output. */
  const problems: string[] = [];
  const program = {
    command: "/bin/sh",
    args: ["-c", `${WHEN_WATCHED}${line}`],
    env: own ?? env,
    cwd,
    stderr: (problem: string) => problems.push(problem),
    serves: currentSession(),
  };
  const child = await OwnedChild.start(confine?.(program) ?? program);
  child.stdin.end("\n");
  return { child, problems };
}

/** Runs a command line in its own process group, without our secrets. */
export async function runLine(
  { timeout, signal, pauses, ...line }: CommandLine,
  heard?: (output: BoundedText) => void,
): Promise<LineEnd> {
  signal.throwIfAborted();
  const { child, problems } = await startLine(line);
  const options = { signal, timeout, most: MOST_OUTPUT, heard, pauses };
  const { text: said, exit, isLate } = await readBounded(child, options);
  const text = `${said}${problems.join("\n")}`;
  if (isLate) return { output: text, end: lateText(timeout), isOk: false };
  return { output: text, end: endText(exit), isOk: exit === 0 };
}

/** How a child ended, in words. */
export function endText(exit: number | string): string {
  return typeof exit === "number" ? `exit code ${exit}` : `ended by ${exit}`;
}

/** Runs a command line in a terminal of the editor (ACP terminals), where the person sees it. */
export async function runInTerminal(
  host: TerminalHost,
  { line, cwd, timeout, signal, identity }: CommandLine,
  opened: (terminalId: string) => Promise<void>,
): Promise<LineEnd> {
  const quiet = Object.entries(QUIET).map(([name, value]) => ({ name, value }));
  const env = [...quiet, ...identityVariables(identity)];
  const options = { command: "sh", args: ["-c", line], cwd, env, outputByteLimit: MOST_OUTPUT };
  const terminal = await untilAborted(host.create(options), signal);
  await using ends = new AsyncDisposableStack();
  // ACP terminal/release also kills the command when the turn was cancelled.
  ends.defer(() => terminal.release().catch(() => {}));
  const late = delay(timeout, "late" as const, { ref: false });
  await opened(terminal.terminalId);
  const end = await untilAborted(Promise.race([terminal.waitForExit(), late]), signal);
  if (end === "late") await terminal.kill();
  const { output } = await untilAborted(terminal.output(), signal);
  if (end === "late") return { output, end: lateText(timeout), isOk: false };
  const how = endText(end.exitCode ?? end.signal ?? "?");
  return { output, end: how, isOk: end.exitCode === 0 };
}

function lateText(timeout: number): string {
  return `killed after ${Math.round(timeout / 1000)} s`;
}

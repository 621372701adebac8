import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";

import { TrunklineError } from "../../base/errors.ts";
import type { Invocation } from "../shell/command.ts";
import { openCommands } from "./open-identities.ts";

/** Signals that others send to us and mean for the command. */
const PASSED_ON = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
/** A terminal sends these to the command too, which would otherwise get them twice. */
const BY_TERMINAL = ["SIGINT", "SIGQUIT"] as const;

/** `trunkline identity exec NAME -- COMMAND` */
export async function exec(invocation: Invocation): Promise<number> {
  const [name = "", command = "", ...args] = invocation.positionals;
  let env: NodeJS.ProcessEnv;
  {
    await using commands = await openCommands(invocation);
    env = await commands.processEnvironment(name, invocation.env);
  }
  return await runCommand(command, args, { cwd: invocation.cwd, env });
}

/** Runs a command in our place. Returns its exit code; 128 and the signal's number if one ended it. */
async function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<number> {
  let child: ChildProcess | undefined;
  const pass = (signal: NodeJS.Signals): void => {
    child?.kill(signal);
  };
  const wait = process.stdin.isTTY ? (): void => {} : pass;
  // Before the command runs: a signal that is sent to us once it does must not end us alone.
  for (const signal of PASSED_ON) process.on(signal, pass);
  for (const signal of BY_TERMINAL) process.on(signal, wait);
  try {
    child = spawn(command, args, { ...options, stdio: "inherit" });
    return await ended(command, child);
  } finally {
    for (const signal of PASSED_ON) process.off(signal, pass);
    for (const signal of BY_TERMINAL) process.off(signal, wait);
  }
}

function ended(command: string, child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === "ENOENT";
      const why = isMissing ? "there is no such program" : error.message;
      reject(new TrunklineError("not-found", `Cannot run '${command}': ${why}`));
    });
    child.on("exit", (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

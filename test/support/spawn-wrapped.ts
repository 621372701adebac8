import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";

import type { Program } from "../../src/sandbox/bubblewrap.ts";

/** Starts a program in the sandbox that it was wrapped for, with its output as a pipe. */
export function spawnWrapped(program: Program, hasChannel = false): ChildProcess {
  const { command, args, env, cwd, files = [] } = program;
  const stdio: ("ignore" | "pipe" | "inherit" | "ipc" | number)[] = ["ignore", "pipe", "inherit"];
  stdio.push(...files, ...(hasChannel ? ["ipc" as const] : []));
  const child = spawn(command, [...args], { env, cwd, stdio });
  for (const file of files) closeSync(file);
  return child;
}

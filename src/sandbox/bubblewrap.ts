import { spawn } from "node:child_process";
import { closeSync, lstatSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";

import { TrunklineError } from "../base/errors.ts";
import { type FileView, FIRST_FD, mountView } from "./file-view.ts";
import { type Launch, launcher } from "./launcher.ts";
import { EMPTY, FILTER } from "./sandbox-folder.ts";
import { systemArguments } from "./system-files.ts";

/** A program to start, as requested or as it has to be started. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Open files that it inherits, as its descriptors from 3 on. */
  readonly files?: readonly number[];
}

/** Its own processes and users, no rights over the kernel, few system calls; its end is that of all. */
const SEPARATE = [
  ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"],
  ...["--seccomp", String(FIRST_FD)],
];

/** Users of its own, in which nobody can become another. */
export const OWN_USERS = ["--unshare-user", "--disable-userns"];

export interface BubblewrapOptions {
  /** The command line that bubblewrap is started with. */
  readonly bwrap: readonly string[];
  /** Arguments for users of its own, and the like. */
  readonly more: readonly string[];
  /** The folder that `makeSandboxFolder` has made. */
  readonly folder: string;
  readonly view: FileView;
  /** The folder that bubblewrap enters, as it is seen inside; else the program's user enters its own. */
  readonly cwd?: string;
  /** What starts the launcher inside, such as a program that changes the user. */
  readonly through?: readonly string[];
  readonly program: Pick<Program, "command" | "args" | "cwd">;
  /** More that the launcher does, which gets the descriptor of a channel, if there is one. */
  readonly launch?: (channel: number) => Partial<Launch>;
}

/** Where the executable is inside that becomes the program. It can be executed, and not read. */
const LAUNCHER = "/dev/launcher";

/**
 * How a program is started with bubblewrap: the one place that decides what any sandbox shows and keeps.
 * Throws "unavailable" if something of the view cannot be shown.
 */
export function bubblewrapProgram(options: BubblewrapOptions): Required<Omit<Program, "env">> {
  const { bwrap, more, folder, view, cwd, through = [], program, launch } = options;
  const readAll = view.read.includes("/") ? "--ro-bind" : undefined;
  const all = view.write.includes("/") ? "--bind" : readAll;
  const system = [
    ...(all === undefined ? systemArguments() : [all, "/", "/"]),
    ...["--proc", "/proc", ...kernelSettings(), "--dev", "/dev"],
  ];
  // Last, so that nothing that fails leaves files open.
  const { args, files } = mountView(view, join(folder, EMPTY), [
    () => openSync(join(folder, FILTER), "r"),
    () => openUnnamed(folder),
  ]);
  using opened = new DisposableStack();
  for (const each of files) opened.defer(() => closeSync(each));
  const { command, args: given } = program;
  const code = launcher({
    // The launcher does not look for a program.
    program: command.includes("/") ? command : "/usr/bin/env",
    args: command.includes("/") ? given : [command, ...given],
    cwd: program.cwd,
    variables: {},
    ...launch?.(FIRST_FD + files.length),
  });
  // At a position, so that it is read from the beginning.
  if (writeSync(files[1] ?? -1, code, 0, code.length, 0) < code.length)
    throw new Error("The disk is full.");
  const [start, ...rest] = [
    ...bwrap,
    ...SEPARATE,
    ...more,
    ...system,
    // Also for a user that is not root, such as that of a remote run.
    ...["--perms", "1777", "--tmpfs", "/dev/shm"],
    ...args,
    ...["--perms", "0111", "--ro-bind-data", String(FIRST_FD + 1), LAUNCHER],
    // The root is made for this sandbox: what is written there would be lost.
    ...(all === undefined ? ["--remount-ro", "/"] : []),
    ...(cwd === undefined ? [] : ["--chdir", cwd]),
    "--",
    ...through,
    LAUNCHER,
  ];
  opened.move();
  return { command: start, args: rest, cwd: "/", files };
}

/** A file without a name: it holds a command line and variables, which may be secret. */
function openUnnamed(folder: string): number {
  const path = join(folder, `launcher-${crypto.randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  rmSync(path);
  return file;
}

const ABSENT = { throwIfNoEntry: false } as const;

/**
 * Keeps settings of the kernel from being written. Root may write them without any capability, and one of
 * them names a program that the kernel runs as root outside of the sandbox (core_pattern).
 */
function kernelSettings(): string[] {
  if (process.getuid?.() !== 0) return [];
  // Without their types: a process that ends while they are looked up would make that fail.
  const found = readdirSync("/proc").filter((name) => {
    const stats = /^\d+$/.test(name) ? undefined : lstatSync(`/proc/${name}`, ABSENT);
    return (
      stats?.isDirectory() === true || (stats?.isFile() === true && (stats.mode & 0o222) !== 0)
    );
  });
  return found.flatMap((name) => ["--ro-bind", `/proc/${name}`, `/proc/${name}`]);
}

/** Why a sandbox does not work. A timeout may only mean that the machine is busy. */
export interface SandboxProblem {
  readonly code: "unavailable" | "timeout";
  readonly says: string;
}

/** How a program in a sandbox has ended. */
export interface Outcome {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether it was ended because it took too long or printed too much. */
  readonly isEnded: boolean;
}

/** Runs a program to its end. It is killed after some milliseconds, and when it prints over `most` bytes. */
export async function runWrapped(
  { command, args, env, cwd, files = [] }: Program,
  { milliseconds, most }: { readonly milliseconds: number; readonly most: number },
): Promise<Outcome> {
  const stdio: ("ignore" | "pipe" | number)[] = ["ignore", "pipe", "pipe", ...files];
  const limits = { timeout: milliseconds, killSignal: "SIGKILL" } as const;
  const child = spawn(command, [...args], { env, cwd, stdio, ...limits });
  for (const file of files) closeSync(file);
  const collect = (stream: Readable | null): (() => string) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream?.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > most) child.kill("SIGKILL");
      else chunks.push(chunk);
    });
    return () => Buffer.concat(chunks).toString("utf8");
  };
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  return await new Promise((resolve) => {
    child.on("error", ({ message }) => {
      resolve({ code: "error", stdout: "", stderr: message, isEnded: false });
    });
    child.on("close", (code, signal) => {
      const ended = { stdout: stdout(), stderr: stderr(), isEnded: child.killed };
      resolve({ code: code ?? signal, ...ended });
    });
  });
}

/** Runs a program to see whether its sandbox works. Returns what is in the way, or undefined. */
export async function problemWith(
  program: Program,
  milliseconds: number,
): Promise<SandboxProblem | undefined> {
  const { code, stderr, isEnded } = await runWrapped(program, { milliseconds, most: MOST_SAID });
  if (code === 0) return undefined;
  const [line = ""] = stderr.trim().split("\n");
  const says = line === "" ? `it ended with ${code}` : line;
  return { code: isEnded ? "timeout" : "unavailable", says };
}

const MOST_SAID = 10_000;

/** Throws, with words that begin with `what`, if a program does not run in a sandbox. */
export async function tryOut(
  wrap: (program: Program) => Program,
  [command, ...args]: readonly [string, ...string[]],
  milliseconds: number,
  what: string,
): Promise<void> {
  const env = { PATH: process.env.PATH };
  const problem = await problemWith(
    { ...wrap({ command, args, env, cwd: "/" }), env },
    milliseconds,
  );
  if (problem !== undefined) throw new TrunklineError(problem.code, `${what}: ${problem.says}`);
}

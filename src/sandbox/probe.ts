import { rm } from "node:fs/promises";
import { delimiter, join } from "node:path";

import { isExecutable } from "../base/file/path.ts";
import { problemWith } from "./bubblewrap.ts";
import { ControlGroup } from "./cgroup.ts";
import { openSandbox } from "./sandbox.ts";

/** The parts of a sandbox that work on this machine. */
export interface SandboxParts {
  /** Path of bubblewrap. */
  readonly bwrap: string;
  readonly landlock: boolean;
}

export interface SandboxReport {
  /** Undefined if no sandbox is possible. */
  readonly parts: SandboxParts | undefined;
  /** For people: what works and what does not, one line each. */
  readonly findings: readonly SandboxFinding[];
}

export interface SandboxFinding {
  readonly part: "bubblewrap" | "seccomp" | "landlock" | "cgroup" | "users";
  readonly isInForce: boolean;
  readonly detail: string;
}

/** Tests each part by using it, because no version number tells whether it is allowed here. */
export async function probeSandbox(data: string, env = process.env): Promise<SandboxReport> {
  const findings: SandboxFinding[] = [];
  const found = (part: SandboxFinding["part"], isInForce: boolean, detail: string): void => {
    findings.push({ part, isInForce, detail });
  };
  if (process.platform !== "linux") {
    found("bubblewrap", false, `sandboxes need Linux; this is ${process.platform}`);
    return { parts: undefined, findings };
  }
  const bwrap = findProgram("bwrap", env);
  if (bwrap === undefined) {
    found("bubblewrap", false, "bwrap is not installed: install the package bubblewrap");
    return { parts: undefined, findings };
  }
  const plain: SandboxParts = { bwrap, landlock: false };
  const withLandlock = { ...plain, landlock: true };
  // Where all of it works, bubblewrap need not be tried alone: an attempt starts two programs.
  const landlock = await tryOut(data, withLandlock, env);
  const problem = landlock === undefined ? undefined : await tryOut(data, plain, env);
  if (problem !== undefined) {
    found("bubblewrap", false, `${bwrap} does not work here: ${problem}`);
    return { parts: undefined, findings };
  }
  found("bubblewrap", true, `${bwrap}: own processes, files, network and users`);
  found("seccomp", true, "namespaces, mounts, keys, io_uring and the like are refused");
  found("landlock", landlock === undefined, landlock ?? "file access is restricted a second time");
  const limits = { memory: 64 << 20, processes: 16, cpus: 1 };
  const group = await ControlGroup.create(`probe-${process.pid}`, limits);
  const noGroup = "memory, processes and CPU are not bounded: no control group can be created here";
  found("cgroup", group !== undefined, group ? "memory, processes and CPU are bounded" : noGroup);
  await group?.[Symbol.asyncDispose]();
  const isRoot = process.getuid?.() === 0;
  const oneUser = "all sessions run as the user that runs Trunkline, who is not root";
  found("users", isRoot, isRoot ? "each session runs as a user of its own" : oneUser);
  return { parts: landlock === undefined ? withLandlock : plain, findings };
}

/** Runs a program in such a sandbox. Returns the problem, or undefined. */
async function tryOut(
  data: string,
  parts: SandboxParts,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const folder = join(data, "probe");
  try {
    const options = { name: `probe-${process.pid}`, data: folder, parts, write: [], read: [] };
    await using sandbox = await openSandbox(options);
    const program = { command: "/bin/true", args: [], env: { PATH: env.PATH }, cwd: "/" };
    return (await problemWith(sandbox.wrap(program), 10_000))?.says;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function findProgram(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

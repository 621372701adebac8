import { rm } from "node:fs/promises";
import { delimiter, join } from "node:path";

import { isExecutable } from "../base/file/path.ts";
import { problemWith } from "./bubblewrap.ts";
import { ControlGroup } from "./cgroup.ts";
import { LANDLOCK_RIGHTS, NO_LANDLOCK, type LandlockRights } from "./launcher.ts";
import { openSandbox } from "./sandbox.ts";

/** The parts of a sandbox that work on this machine. */
export interface SandboxParts {
  /** Path of bubblewrap. */
  readonly bwrap: string;
  /** How many rights to files Landlock restricts here; undefined where it is not there. */
  readonly landlock: LandlockRights | undefined;
  /** Whether each sandbox can have a user of its own. */
  readonly users: boolean;
}

/** Below the users of runs. A user that is not mapped into our own namespace cannot be had. */
export const PROBE_USER = { uid: 1_879_048_191, gid: 1_879_048_191 };

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
  const { parts, problems } = await tryAll(data, bwrap, env);
  if (parts === undefined) {
    found("bubblewrap", false, `${bwrap} does not work here: ${problems.at(-1)}`);
    return { parts, findings };
  }
  const { landlock, users } = parts;
  found("bubblewrap", true, `${bwrap}: own processes, files, network and users`);
  found("seccomp", true, "namespaces, mounts, keys, io_uring and the like are refused");
  const twice = "file access is restricted a second time";
  found("landlock", landlock !== undefined, landlock ? twice : (problems.at(-1) ?? ""));
  const limits = { memory: 64 << 20, processes: 16, cpus: 1 };
  const group = await ControlGroup.create(`probe-${process.pid}`, limits);
  const noGroup = "memory, processes and CPU are not bounded: no control group can be created here";
  found("cgroup", group !== undefined, group ? "memory, processes and CPU are bounded" : noGroup);
  await group?.[Symbol.asyncDispose]();
  const oneUser = "all sessions run as the user that runs Trunkline";
  const why = isRoot() ? (problems[0] ?? "") : "only root can become another one";
  found("users", users, users ? "each session runs as a user of its own" : `${oneUser}: ${why}`);
  return { parts, findings };
}

/** Tries all parts together first: where all of it works, one attempt is enough. */
async function tryAll(
  data: string,
  bwrap: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly parts: SandboxParts | undefined; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  for (const users of isRoot() ? [true, false] : [false]) {
    let problem: string | undefined = NO_LANDLOCK;
    for (const landlock of [...LANDLOCK_RIGHTS, undefined]) {
      // Fewer rights help only where the kernel does not know as many.
      if (landlock !== undefined && !problem.endsWith(NO_LANDLOCK)) continue;
      const parts = { bwrap, landlock, users };
      problem = await tryOut(data, parts, env);
      if (problem === undefined) return { parts, problems };
      problems.push(problem);
    }
  }
  return { parts: undefined, problems };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Runs a program in such a sandbox. Returns the problem, or undefined. */
async function tryOut(
  data: string,
  parts: SandboxParts,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const folder = join(data, "probe");
  try {
    const user = parts.users ? PROBE_USER : undefined;
    const name = `probe-${process.pid}`;
    const options = { name, data: folder, parts, write: [], read: [], user };
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

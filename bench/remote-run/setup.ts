import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Bench, Sample } from "../harness/bench.ts";
import { median } from "../harness/spread.ts";
import {
  keptRepository,
  LARGE,
  type MadeRepository,
  makeRepository,
  SMALL,
} from "./made-repository.ts";
import { RunServer } from "./run-server.ts";

const OURS = "trunkline session/new";
const NO_PAUSE = "  without a pause";
const NOT_PREPARED = "  none prepared";
const CLONE = "git clone";
const SHARED = "git clone --shared";
const WORKTREE = "git worktree add";

/** Milliseconds between two sessions of a client: those of a person are minutes. */
const PAUSE = 1_000;

/** Starts that are made at once. */
const AT_ONCE = 100;

/** From a request to a workspace with an agent in its sandbox, against what git does for a tree alone. */
function setupBench(name: string, size: typeof SMALL, isLarge: boolean): Bench {
  return {
    name,
    plan: async ({ quick }) => {
      const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-setup-"));
      process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
      const repository = await keptRepository(size);
      const mirror = join(folder, "mirror.git");
      await git(folder, "clone", "--quiet", "--bare", repository.url, mirror);
      const server = await RunServer.start();
      // How large the repository is makes no difference to these, only to the first of them.
      const withoutSpares = isLarge
        ? undefined
        : await RunServer.start(undefined, {}, { spares: 0 });
      // The first one fetches and checks out, and a spare is prepared after the second; what is
      // measured are the next.
      for (const each of [server, server, withoutSpares]) {
        if (each !== undefined) await each.end((await each.begin(repository)).sessionId);
      }
      const times = isLarge ? 1 : quick ? 2 : 10;
      const starts = quick ? 4 : isLarge ? 24 : 12;
      const byGit = (...args: string[]) => ({ measure: async () => tree(folder, times, args) });
      const ours = (name: string, by: RunServer, pause: number) => ({
        name,
        measure: () => sessions(by, repository, starts, pause),
      });
      return {
        describe: `a workspace on the newest commit of a repository of ${size.files} files and ${size.commits} commits by file://, ready: median of ${times} by git and of ${starts} of ours, with a pause of ${PAUSE} ms after each; the sandbox and the agent's own start are in it`,
        rounds: quick || isLarge ? 1 : 5,
        quantities: [
          { key: "wall", label: "time", unit: "ms", digits: 0 },
          { key: "slowest", label: "slowest", unit: "ms", digits: 0 },
          { key: "disk", label: "disk", unit: "MB", digits: 2 },
        ],
        variants: [
          { name: CLONE, ...byGit("clone", "--quiet", repository.url) },
          { name: SHARED, ...byGit("clone", "--quiet", "--shared", mirror) },
          {
            name: WORKTREE,
            ...byGit("--git-dir", mirror, "worktree", "add", "--quiet", "--detach"),
          },
          ours(OURS, server, PAUSE),
          ours(NO_PAUSE, server, 0),
          ...(withoutSpares === undefined ? [] : [ours(NOT_PREPARED, withoutSpares, PAUSE)]),
        ],
        comparisons: [
          { quantity: "wall", of: OURS, against: CLONE, ...(isLarge ? { atMost: 0.02 } : {}) },
          { quantity: "wall", of: OURS, against: SHARED },
          { quantity: "wall", of: OURS, against: WORKTREE },
          { quantity: "wall", of: NO_PAUSE, against: CLONE },
          ...(isLarge ? [] : [{ quantity: "wall", of: NOT_PREPARED, against: CLONE }]),
          { quantity: "wall", of: OURS, atMost: 150 },
          { quantity: "slowest", of: OURS, atMost: 1_000 },
          { quantity: "disk", of: OURS, atMost: 5 },
        ],
        end: async () => {
          await server[Symbol.asyncDispose]();
          await withoutSpares?.[Symbol.asyncDispose]();
        },
      };
    },
  };
}

export const runSetup = setupBench("run-setup", SMALL, false);
export const runSetupLarge = setupBench("run-setup-large", LARGE, true);

/** Many starts at once: none may fail. */
export const runStarts: Bench = {
  name: "run-starts",
  plan: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-starts-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const repository = await makeRepository(join(folder, "remote.git"), SMALL);
    const server = await RunServer.start();
    await server.end((await server.begin(repository)).sessionId);
    const count = quick ? 20 : AT_ONCE;
    return {
      describe: `${count} sessions are begun at once, on one connection, with an agent each`,
      rounds: quick ? 1 : 3,
      quantities: [
        { key: "wall", label: "until all are ready", unit: "ms", digits: 0 },
        { key: "each", label: "of it each", unit: "ms", digits: 1 },
        { key: "failed", label: "failed", unit: "", digits: 0 },
      ],
      variants: [{ name: OURS, measure: () => together(server, repository, count) }],
      comparisons: [{ quantity: "failed", of: OURS, atMost: 0 }],
      end: () => server[Symbol.asyncDispose](),
    };
  },
};

async function together(
  server: RunServer,
  repository: MadeRepository,
  count: number,
): Promise<Sample> {
  const begun = performance.now();
  const starts = Array.from({ length: count }, () => server.begin(repository));
  const ends = await Promise.allSettled(starts);
  const wall = performance.now() - begun;
  const made = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  for (const { sessionId } of made) await server.end(sessionId);
  return { wall, each: wall / count, failed: count - made.length };
}

async function sessions(
  server: RunServer,
  repository: MadeRepository,
  count: number,
  pause: number,
): Promise<Sample> {
  const times: number[] = [];
  const sizes: number[] = [];
  for (let at = 0; at < count; at++) {
    await delay(pause);
    const { sessionId, workspace, milliseconds } = await server.begin(repository);
    times.push(milliseconds);
    sizes.push(megabytes(workspace, "--exclude=tree"));
    await server.end(sessionId);
  }
  return { wall: median(times), slowest: Math.max(...times), disk: median(sizes) };
}

/** The same by one call of git, which is given the path to make. */
async function tree(folder: string, count: number, args: readonly string[]): Promise<Sample> {
  const times: number[] = [];
  let disk = 0;
  for (let at = 0; at < count; at++) {
    const path = mkdtempSync(join(folder, "tree-"));
    const begun = performance.now();
    await git(folder, ...args, path);
    times.push(performance.now() - begun);
    disk = megabytes(path);
    rmSync(path, { recursive: true });
  }
  if (args.includes("worktree")) await git(folder, ...args.slice(0, 2), "worktree", "prune");
  return { wall: median(times), slowest: Math.max(...times), disk };
}

function megabytes(path: string, ...options: string[]): number {
  const listed = execFileSync("du", ["--summarize", "--block-size=1K", ...options, path]);
  return Number.parseInt(listed.toString(), 10) / 1024;
}

/** Without blocking: the server ends a connection whose client does not answer its pings. */
async function git(cwd: string, ...args: string[]): Promise<void> {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const child = spawn("git", args, { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`git ${args.join(" ")} ended with ${code}`);
}

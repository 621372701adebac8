import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Bench, Sample } from "./harness/bench.ts";
import { type MadeRepository, makeRepository, SIZE } from "./harness/made-repository.ts";
import { RunServer } from "./harness/run-server.ts";
import { median } from "./harness/spread.ts";

const OURS = "trunkline session/new";
const CLONE = "git clone";

/** Milliseconds between two sessions of a client: those of a person are minutes. */
const PAUSE = 1_000;

/** From a request to a workspace with an agent in its sandbox, against what git takes for a tree alone. */
export const remoteRun: Bench = {
  name: "remote-run",
  plan: async ({ quick }) => {
    const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    const repository = await makeRepository(join(folder.path, "remote.git"));
    const server = await RunServer.start();
    // The first one fetches and checks out; what is measured are the next.
    await server.end((await server.begin(repository)).sessionId);
    const times = quick ? 4 : 10;
    return {
      describe: `a workspace on the newest commit of a repository of ${SIZE.files} files and ${SIZE.commits} commits by file://, with an agent in its sandbox: median of ${times}, with a pause of ${PAUSE} ms after each`,
      rounds: quick ? 2 : 5,
      quantities: [
        { key: "wall", label: "time", unit: "ms", digits: 0 },
        { key: "slowest", label: "slowest", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: CLONE, measure: () => clones(folder.path, repository, times) },
        { name: OURS, measure: () => sessions(server, repository, times) },
      ],
      comparisons: [
        {
          row: "remote run, warm `session/new` until the agent answers",
          ...{ quantity: "wall", of: OURS, atMost: 150, beside: CLONE },
        },
      ],
      end: async () => {
        await server[Symbol.asyncDispose]();
        await folder.remove();
      },
    };
  },
};

/** As many applications are. */
const LARGE = { files: 12_000, commits: 50, changes: 3 };
const AT_ONCE = 100;
const MANY = `${AT_ONCE} at once`;

/** The same in a large repository, one after the other without a pause; and many at once. */
export const largeRuns: Bench = {
  name: "large-runs",
  plan: async ({ quick }) => {
    const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    const repository = await makeRepository(join(folder.path, "remote.git"), LARGE);
    const server = await RunServer.start();
    await server.end((await server.begin(repository)).sessionId);
    const times = quick ? 5 : 20;
    return {
      describe: `a workspace on the newest commit of a repository of ${LARGE.files} files, with an agent in its sandbox: median of ${times}, back to back; and ${AT_ONCE} at once`,
      rounds: quick ? 2 : 5,
      quantities: [
        { key: "wall", label: "time", unit: "ms", digits: 0 },
        { key: "slowest", label: "slowest", unit: "ms", digits: 0 },
        { key: "failed", label: "failed", unit: "", digits: 0 },
      ],
      variants: [
        { name: CLONE, measure: () => clones(folder.path, repository, quick ? 2 : 5) },
        { name: OURS, measure: () => sessions(server, repository, times, 0) },
        { name: MANY, measure: () => atOnce(server, repository) },
      ],
      comparisons: [
        {
          row: "remote run of 12,000 files, warm, back to back, against a clone",
          ...{ quantity: "wall", of: OURS, against: CLONE, atMost: 1 / 50 },
        },
        { row: "100 remote runs at once, failed", quantity: "failed", of: MANY, atMost: 0 },
      ],
      end: async () => {
        await server[Symbol.asyncDispose]();
        await folder.remove();
      },
    };
  },
};

async function atOnce(server: RunServer, repository: MadeRepository): Promise<Sample> {
  const begun = performance.now();
  const all = await Promise.allSettled(
    Array.from({ length: AT_ONCE }, () => server.begin(repository)),
  );
  const wall = performance.now() - begun;
  const open = all.filter((each) => each.status === "fulfilled").map(({ value }) => value);
  for (const { sessionId } of open) await server.end(sessionId);
  const slowest = Math.max(...open.map(({ milliseconds }) => milliseconds));
  return { wall, slowest, failed: AT_ONCE - open.length };
}

async function sessions(
  server: RunServer,
  repository: MadeRepository,
  count: number,
  pause = PAUSE,
): Promise<Sample> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    await delay(pause);
    const { sessionId, milliseconds } = await server.begin(repository);
    times.push(milliseconds);
    await server.end(sessionId);
  }
  return { wall: median(times), slowest: Math.max(...times), failed: 0 };
}

async function clones(folder: string, { url }: MadeRepository, count: number): Promise<Sample> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const path = mkdtempSync(join(folder, "tree-"));
    const begun = performance.now();
    await git("clone", "--quiet", url, path);
    times.push(performance.now() - begun);
    rmSync(path, { recursive: true });
  }
  return { wall: median(times), slowest: Math.max(...times), failed: 0 };
}

/** Without blocking: the server ends a connection whose client does not answer its pings. */
async function git(...args: string[]): Promise<void> {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const child = spawn("git", args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`git ${args.join(" ")} ended with ${code}`);
}

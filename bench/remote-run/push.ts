import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Bench, Sample } from "../harness/bench.ts";
import { median } from "../harness/spread.ts";
import { makeRepository, SMALL } from "./made-repository.ts";
import { RunServer } from "./run-server.ts";

const GIT = "git add, commit, push";
const TURN = "a turn that changes a file";
const IDLE = "a turn that changes nothing";

/** What it costs that a turn's work is looked at, committed, pushed and asked for at the remote. */
export const runPush: Bench = {
  name: "run-push",
  plan: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-push-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const repository = await makeRepository(join(folder, "remote.git"), SMALL);
    const clone = join(folder, "clone");
    git(folder, "clone", "--quiet", repository.url, clone);
    git(clone, "switch", "--quiet", "--create", "work");
    const server = await RunServer.start();
    const times = quick ? 3 : 7;
    return {
      describe: `one file in a repository of ${SMALL.files}, to a remote by file://; median of ${times}`,
      rounds: quick ? 1 : 7,
      quantities: [{ key: "wall", label: "time", unit: "ms", digits: 0 }],
      variants: [
        { name: GIT, measure: async () => byHand(clone, times) },
        { name: IDLE, measure: () => turns(server, repository, times, () => "say done") },
        {
          name: TURN,
          measure: () => turns(server, repository, times, (at) => `put new.txt|${at}|0`),
        },
      ],
      comparisons: [
        { quantity: "wall", of: TURN, over: IDLE, against: GIT },
        { quantity: "wall", of: TURN, against: GIT },
      ],
      end: () => server[Symbol.asyncDispose](),
    };
  },
};

function byHand(clone: string, times: number): Sample {
  const took = Array.from({ length: times }, (_, at) => {
    writeFileSync(join(clone, "new.txt"), `${at} ${Math.random()}\n`);
    const begun = performance.now();
    git(clone, "add", "--all");
    git(clone, "commit", "--quiet", "--message", "Turn");
    git(clone, "push", "--quiet", "origin", "work");
    return performance.now() - begun;
  });
  return { wall: median(took) };
}

async function turns(
  server: RunServer,
  repository: Parameters<RunServer["begin"]>[0],
  times: number,
  text: (at: number) => string,
): Promise<Sample> {
  const { sessionId } = await server.begin(repository);
  const took: number[] = [];
  for (let at = 0; at < times; at++) {
    const begun = performance.now();
    const prompt = [{ type: "text", text: text(at) }];
    await server.ide.ask("session/prompt", { sessionId, prompt });
    took.push(performance.now() - begun);
  }
  await server.end(sessionId);
  return { wall: median(took) };
}

function git(cwd: string, ...args: string[]): void {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=Ida", "-c", "user.email=ida@example.com"];
  execFileSync("git", [...who, ...args], { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
}

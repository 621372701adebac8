import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Bench, Sample } from "./harness/bench.ts";

const PROGRAM = join(import.meta.dirname, "../dist/trunkline.js");
const PLAIN = "git commit";
const GUARDED = "git commit, guarded";
/** The guard notes nothing about files that were changed in the last two seconds. */
const SETTLED = 2_500;

/** What the guard adds to a commit that it allows. */
export const guardBench: Bench = {
  name: "guard",
  plan: async ({ quick }) => {
    const home = mkdtempSync(join(tmpdir(), "trunkline-bench-guard-"));
    process.on("exit", () => rmSync(home, { recursive: true, force: true }));
    const config = join(home, "config.jsonc");
    const match = [{ remote: "git@github.com:acme/*" }];
    const work = { provider: "github", user: "ada", email: "ada@acme.example", match };
    writeFileSync(config, JSON.stringify({ identities: { work } }));
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      GIT_CONFIG_NOSYSTEM: "1",
      TRUNKLINE_CONFIG: config,
      TRUNKLINE_DATA: join(home, "data"),
    };
    const folders = { [PLAIN]: join(home, "plain"), [GUARDED]: join(home, "guarded") };
    const run = (cwd: string, ...words: string[]): void => {
      const [command = "", ...args] = words;
      execFileSync(command, args, { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
    };
    const trunkline = (...args: string[]): string[] => [process.execPath, PROGRAM, ...args];
    for (const folder of Object.values(folders)) {
      mkdirSync(folder);
      run(folder, "git", "init", "-q");
      run(folder, "git", "remote", "add", "origin", "git@github.com:acme/app.git");
      run(folder, ...trunkline("identity", "switch", "work"));
    }
    run(folders[GUARDED], ...trunkline("identity", "guard", "install"));
    await sleep(SETTLED);
    const commit = (folder: string): void => {
      run(folder, "git", "commit", "-q", "--allow-empty", "-m", "x");
    };
    for (const folder of Object.values(folders)) commit(folder);
    const times = quick ? 5 : 20;
    return {
      describe: `an empty commit in a repository whose identity is right; mean of ${times}`,
      rounds: quick ? 7 : 31,
      quantities: [{ key: "wall", label: "time", unit: "ms", digits: 2 }],
      variants: Object.entries(folders).map(([name, folder]) => {
        return {
          name,
          measure: async (): Promise<Sample> => {
            const began = performance.now();
            for (let time = 0; time < times; time++) commit(folder);
            return { wall: (performance.now() - began) / times };
          },
        };
      }),
      comparisons: [{ quantity: "wall", of: GUARDED, against: PLAIN, atMost: 1.5 }],
    };
  },
};

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Bench, Sample } from "./harness/bench.ts";
import { ROOT } from "./harness/program.ts";

const TRUNKLINE = join(ROOT, "dist/trunkline.js");
const BARE = "bare commit";
const ADD = "trunkline review add";

/** A comment, from starting the program to its end: what a person in lazygit waits for. */
export const reviewAdd: Bench = {
  name: "review-add",
  plan: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const repository = join(folder, "repository");
    mkdirSync(repository);
    const lines = Array.from({ length: 500 }, (_, n) => `line ${n}\n`).join("");
    writeFileSync(join(repository, "main.go"), lines);
    execFileSync("git", ["init", "--quiet"], { cwd: repository });
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      TRUNKLINE_DATA: join(folder, "data"),
      XDG_CACHE_HOME: join(ROOT, ".cache/bench/cache"),
    };
    const words = [
      "--file",
      "main.go",
      "--line",
      "42",
      "--comment",
      "Please handle the error here.",
    ];
    const add = (): Promise<Sample> =>
      timed([TRUNKLINE, "review", "add", ...words], repository, env);
    const bare = (): Promise<Sample> =>
      timed([join(ROOT, "bench/servers/bare-commit.mjs"), join(folder, "bare.db")], folder, env);
    const isBuilt = existsSync(TRUNKLINE);
    // The first runs create the database and cache compiled code.
    for (let n = 0; n < 3; n++) await (isBuilt ? add() : bare());
    return {
      describe: "a process that commits one comment to SQLite with synchronous = FULL",
      rounds: quick ? 9 : 41,
      quantities: [{ key: "wall", label: "wall", unit: "ms", digits: 1 }],
      variants: [{ name: BARE, measure: bare }, ...(isBuilt ? [{ name: ADD, measure: add }] : [])],
      skipped: isBuilt ? [] : [{ name: ADD, reason: "npm run build makes dist/trunkline.js" }],
      comparisons: [{ quantity: "wall", of: ADD, against: BARE, atMost: 1.5 }],
    };
  },
};

async function timed(args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Sample> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}`);
  return { wall: performance.now() - began };
}

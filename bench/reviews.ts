import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { REVIEWS_FILE } from "../src/store/store-files.ts";
import { Reviews } from "../src/store/review/reviews.ts";
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

const THREADS = 10_000;
const ROWS = "bare rows";
const LIST = "list";

/** All threads of a large repository. */
export const reviewList: Bench = {
  name: "review-list",
  plan: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const repository = { gitDir: join(folder, ".git"), root: folder };
    const quote = ["\tif err := handle(request); err != nil {"];
    const reviews = await Reviews.open(folder);
    await reviews.addAll(
      Array.from({ length: THREADS }, (_, n) => ({
        repository,
        anchor: { path: `src/${n % 300}.go`, side: "new", line: n + 1, end: n + 1, quote },
        comment: `Please handle the error here, as in ${n}.`,
        severity: "should",
        by: "ada",
        source: "bench",
      })),
    );
    const rows = async (): Promise<Sample> => {
      using database = new DatabaseSync(join(folder, REVIEWS_FILE));
      return await clocked(() => database.prepare("SELECT * FROM thread ORDER BY opened").all());
    };
    const list = async (): Promise<Sample> => {
      return clocked(() => reviews.list({ gitDir: repository.gitDir, states: ["open"] }));
    };
    for (let n = 0; n < 3; n++) await list();
    return {
      describe: `${THREADS} threads out of the store`,
      rounds: quick ? 5 : 21,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 1 },
        { key: "wall", label: "wall", unit: "ms", digits: 1 },
      ],
      variants: [
        { name: ROWS, measure: rows },
        { name: LIST, measure: list },
      ],
      comparisons: [
        { quantity: "cpu", of: LIST, against: ROWS },
        { quantity: "cpu", of: LIST, atMost: 100 },
      ],
    };
  },
};

async function clocked(work: () => unknown[] | Promise<unknown[]>): Promise<Sample> {
  const began = performance.now();
  const before = process.cpuUsage();
  const { length } = await work();
  const { user, system } = process.cpuUsage(before);
  if (length !== THREADS) throw new Error(`There are ${length} threads`);
  return { cpu: (user + system) / 1000, wall: performance.now() - began };
}

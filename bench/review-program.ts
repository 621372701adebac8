import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { makeAnchor } from "../src/review/anchor/anchor.ts";
import { openRepository } from "../src/review/repository.ts";
import { Reviews } from "../src/store/review/reviews.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { ROOT } from "./harness/program.ts";

const TRUNKLINE = join(ROOT, "dist/trunkline.js");
const THREADS = 10_000;
const FILES = 300;
const CHANGED = 100;
const LINES = 400;
const COMMITS = 10;
const MOST_OVER = 100;
const FIRST_COMMIT = "first";
const LAST_COMMIT = "last";

const UNCHANGED = "nothing changed";
const AGAIN = "100 files changed, again";
const FIRST = "100 files changed, first";
const SINCE = "100 files changed since the last list";
/** Milliseconds after which a change of a file shows in its times for certain; see `KeptList`. */
const SETTLED = 2_500;

/** `trunkline review list` with many threads, from starting the program to its end. */
export const reviewProgram: Bench = {
  name: "review-program",
  plan: async ({ quick }) => {
    const isBuilt = existsSync(TRUNKLINE);
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const unchanged = join(folder, "unchanged");
    const changed = join(folder, "changed");
    const changing = join(folder, "changing");
    for (const parent of isBuilt ? [unchanged, changed, changing] : []) await fill(parent);
    for (const parent of isBuilt ? [changed, changing] : []) change(parent);
    const measured = (parent: string): Sample => {
      const bare = wall(["-e", "0"], parent);
      const list = wall([TRUNKLINE, "review", "list"], parent);
      return { wall: list, over: list - bare };
    };
    const first = (): Sample => {
      rmSync(join(changed, "data/positions"), { recursive: true, force: true });
      return measured(changed);
    };
    /** As a user does it: list, pull, list. */
    const since = async (): Promise<Sample> => {
      git(changing, "checkout", "--quiet", FIRST_COMMIT);
      await setTimeout(SETTLED);
      measured(changing);
      git(changing, "checkout", "--quiet", LAST_COMMIT);
      return measured(changing);
    };
    if (isBuilt) for (const parent of [unchanged, changed]) measured(parent);
    return {
      describe: `${THREADS} threads on ${FILES} files, of which ${COMMITS} commits changed ${CHANGED}`,
      rounds: quick ? 3 : 15,
      quantities: [
        { key: "wall", label: "wall", unit: "ms", digits: 0 },
        { key: "over", label: "over a bare Node", unit: "ms", digits: 0 },
      ],
      variants: isBuilt
        ? [
            { name: UNCHANGED, measure: async () => measured(unchanged) },
            { name: FIRST, measure: async () => first() },
            { name: SINCE, measure: since },
            { name: AGAIN, measure: async () => measured(changed) },
          ]
        : [],
      skipped: isBuilt ? [] : [{ name: UNCHANGED, reason: "npm run build makes dist" }],
      comparisons: [
        { quantity: "over", of: UNCHANGED, atMost: MOST_OVER },
        { quantity: "over", of: AGAIN, atMost: MOST_OVER },
        { quantity: "over", of: SINCE, atMost: MOST_OVER },
        { quantity: "over", of: FIRST },
      ].filter(() => isBuilt),
    };
  },
};

function wall(args: string[], parent: string): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: join(parent, "repository"),
    env: {
      PATH: process.env.PATH ?? "",
      HOME: parent,
      TRUNKLINE_DATA: join(parent, "data"),
      XDG_CACHE_HOME: join(ROOT, ".cache/bench/cache"),
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr.toString()}`);
  return performance.now() - began;
}

function git(parent: string, ...args: string[]): void {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  execFileSync("git", [...identity, ...args], { cwd: join(parent, "repository") });
}

function textOf(file: number): string[] {
  return Array.from({ length: LINES }, (_, n) =>
    n % 7 === 3 ? "}" : `  const value${file}x${n} = compute(${n}, "text ${n}", other${n % 13});`,
  );
}

function write(parent: string, file: number, lines: readonly string[]): void {
  writeFileSync(join(parent, `repository/src/${file}.ts`), `${lines.join("\n")}\n`);
}

/** A repository with comments on lines of all its files. */
async function fill(parent: string): Promise<void> {
  mkdirSync(join(parent, "repository/src"), { recursive: true });
  git(parent, "init", "--quiet");
  for (let file = 0; file < FILES; file++) write(parent, file, textOf(file));
  git(parent, "add", "--all");
  git(parent, "commit", "--quiet", "--message=first");
  git(parent, "tag", FIRST_COMMIT);
  const repository = openRepository(join(parent, "repository"));
  using reviews = await Reviews.open(join(parent, "data"));
  const threads = Array.from({ length: THREADS }, async (_, n) => {
    const line = 1 + ((n * 7) % LINES);
    const made = await makeAnchor({ repository, path: `src/${n % FILES}.ts`, line });
    const said = { severity: "should", by: "ada", source: "bench" } as const;
    return { repository, ...made, comment: `Please handle the error here, as in ${n}.`, ...said };
  });
  await reviews.addAll(await Promise.all(threads));
}

/** Some commits, each with five changes in each of the files. */
function change(parent: string): void {
  let texts = Array.from({ length: CHANGED }, (_, file) => textOf(file));
  for (let commit = 0; commit < COMMITS; commit++) {
    texts = texts.map((lines, file) => {
      const next = [...lines];
      for (let n = 0; n < 5; n++) {
        const at = ((file + commit * 7) * 37 + n * 61) % next.length;
        next.splice(at, n % 2, `  inserted${file}x${commit}(${n});`);
      }
      write(parent, file, next);
      return next;
    });
    git(parent, "commit", "--quiet", "--all", "--message=change");
  }
  git(parent, "tag", LAST_COMMIT);
}

import { execFileSync } from "node:child_process";

import { AnchorScore, type Fate } from "./harness/anchor-score.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { GitTruth } from "./harness/git-truth.ts";
import { ROOT } from "./harness/program.ts";
import { Tale } from "./harness/tale.ts";

const MADE = "made-up history";
const OURS = "this repository";
const COMMITS = 20;

/** Positions of comments after the code has changed, on histories where the right answer is known. */
export const anchors: Bench = {
  name: "anchors",
  plan: async ({ quick }) => ({
    describe: `a comment on every line, looked for ${COMMITS} commits later`,
    rounds: 1,
    quantities: [
      { key: "lines", label: "lines", unit: "", digits: 0 },
      { key: "surviving", label: "surviving, placed right", unit: "%", digits: 2 },
      { key: "gone", label: "gone, called gone", unit: "%", digits: 2 },
      { key: "goneLines", label: "gone", unit: "", digits: 0 },
      { key: "rewritten", label: "rewritten, placed right", unit: "%", digits: 2 },
      { key: "rewrittenLines", label: "rewritten", unit: "", digits: 0 },
      { key: "asSurviving", label: "surviving with those", unit: "%", digits: 2 },
      { key: "asGone", label: "gone with those", unit: "%", digits: 2 },
      { key: "undecided", label: "undecided", unit: "", digits: 0 },
      { key: "misplaced", label: "elsewhere", unit: "", digits: 0 },
      { key: "exact", label: "called exact", unit: "", digits: 0 },
      { key: "wrongExact", label: "of those wrong", unit: "", digits: 0 },
      { key: "time", label: "time", unit: "µs", digits: 1 },
    ],
    variants: [
      { name: MADE, measure: async () => madeUp(quick ? 30 : 300) },
      { name: OURS, measure: async () => ours(quick ? 30 : 300) },
    ],
    comparisons: [MADE, OURS].flatMap((of) => [
      { quantity: "surviving", of, atLeast: 99.5 },
      { quantity: "gone", of, atLeast: 95 },
      { quantity: "wrongExact", of, atMost: 0 },
    ]),
  }),
};

/** In a generated history the fate of each line is known, also of lines with equal text. */
function madeUp(files: number): Sample {
  const score = new AnchorScore();
  for (let seed = 1; seed <= files; seed++) {
    const tale = new Tale(seed);
    const first = [...tale.lines];
    const texts = [tale.texts(first)];
    for (let commit = 0; commit < COMMITS; commit++) {
      tale.commit();
      texts.push(tale.lines.map(({ text }) => text));
    }
    const now = new Map(tale.lines.map((line, index) => [line, index + 1]));
    score.placeAll(texts, (at): Fate => {
      const line = first[at];
      const there = line === undefined ? undefined : now.get(line);
      if (line === undefined || there === undefined) return { kind: "gone" };
      return { kind: tale.isChanged(line) ? "rewritten" : "surviving", line: there };
    });
  }
  return score.sample;
}

function ours(files: number): Sample {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
  const score = new AnchorScore();
  const paths = git("ls-files", "-z", "*.ts", "*.md")
    .split("\0")
    .filter((path) => path !== "" && !path.includes(".gen."));
  let used = 0;
  for (const path of paths) {
    if (used >= files) break;
    const how = ["--first-parent", "--format=%H", "--diff-filter=AM", `-${COMMITS + 1}`];
    const commits = git("log", ...how, "--", path)
      .split("\n")
      .filter(Boolean)
      .toReversed();
    if (commits.length < 3) continue;
    used++;
    const truth = new GitTruth(ROOT, path, commits);
    score.placeAll(truth.texts, (at) => truth.fateOf(at));
  }
  return score.sample;
}

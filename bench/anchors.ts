import { linesOf } from "../src/review/anchor/file-text.ts";
import { AnchorScore, type Fate } from "./harness/anchor-score.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { type FileVersion, fileVersions } from "./harness/file-versions.ts";
import { LineTruth } from "./harness/line-truth.ts";
import { npmHistory, type PublishedPackage } from "./harness/npm-history.ts";
import { Tale } from "./harness/tale.ts";

const MADE = "made-up history";
const MADE_COMMITS = 20;

/** Published source code, some of it reformatted in between; one commit for each release. */
const PACKAGES: readonly PublishedPackage[] = [
  { name: "express", from: "0.14.0", to: "4.19.2" },
  { name: "request", from: "0.10.0", to: "2.88.2" },
  { name: "koa", from: "0.0.1", to: "2.15.0" },
  { name: "connect", from: "0.5.0", to: "3.7.0" },
  { name: "commander", from: "0.0.1", to: "9.5.0" },
  { name: "got", from: "0.1.0", to: "8.3.2" },
  { name: "socket.io", from: "0.5.1", to: "2.5.0" },
  { name: "marked", from: "0.0.3", to: "0.8.2" },
  { name: "stylelint", from: "6.0.0", to: "13.13.1" },
  { name: "eslint", from: "3.0.0", to: "6.8.0" },
  { name: "fastify", from: "2.0.0", to: "4.28.1" },
  { name: "webpack", from: "3.5.0", to: "4.16.0" },
  { name: "yargs", from: "1.0.0", to: "15.4.1" },
  { name: "less", from: "2.0.0", to: "4.2.0" },
];

/** The share of surviving lines that must be placed right after so many commits of a file. */
const TARGETS = [
  { commits: 1, atLeast: 99.9 },
  { commits: 5, atLeast: 99.5 },
  { commits: 20, atLeast: 99 },
];

/** Positions of comments after the code has changed, on histories where the right answer is known. */
export const anchors: Bench = {
  name: "anchors",
  plan: async ({ quick, offline }) => {
    const found: string[] = [];
    for (const some of quick ? PACKAGES.slice(0, 3) : PACKAGES) {
      const repository = await npmHistory(some, offline);
      if (repository !== undefined) found.push(repository);
    }
    const published = TARGETS.map(({ commits, atLeast }) => {
      return { name: `published, ${commits}`, atLeast, commits };
    });
    const isThere = found.length > 0;
    const names = [MADE, ...(isThere ? published.map(({ name }) => name) : [])];
    return {
      describe: `a comment on every line, looked for ${MADE_COMMITS} or so many commits later`,
      rounds: 1,
      quantities: [
        { key: "lines", label: "lines", unit: "", digits: 0 },
        { key: "surviving", label: "surviving, placed right", unit: "%", digits: 2 },
        { key: "reformatted", label: "of those reformatted", unit: "%", digits: 2 },
        { key: "reformattedLines", label: "reformatted", unit: "", digits: 0 },
        { key: "gone", label: "gone, called gone", unit: "%", digits: 2 },
        { key: "goneLines", label: "gone", unit: "", digits: 0 },
        { key: "rewrittenLines", label: "rewritten", unit: "", digits: 0 },
        { key: "undecided", label: "undecided", unit: "", digits: 0 },
        { key: "misplaced", label: "elsewhere", unit: "", digits: 0 },
        { key: "exact", label: "called exact", unit: "", digits: 0 },
        { key: "wrongExact", label: "of those wrong", unit: "", digits: 0 },
        { key: "time", label: "time", unit: "µs", digits: 1 },
      ],
      variants: [
        { name: MADE, measure: async () => madeUp(quick ? 30 : 300) },
        ...(isThere ? published : []).map(({ name, commits }) => {
          return { name, measure: async () => publishedFiles(found, commits, quick ? 5 : 20) };
        }),
      ],
      skipped: isThere
        ? []
        : [{ name: "published", reason: "its releases are not downloaded, and --offline" }],
      comparisons: [
        {
          row: `comments placed right, ${MADE_COMMITS} made-up commits later, %`,
          ...{ quantity: "surviving", of: MADE, atLeast: 99.5 },
        },
        ...(isThere ? published : []).map(({ name, atLeast }) => {
          const row = `comments placed right, ${name.replace("published, ", "")} releases later, %`;
          return { row, quantity: "surviving", of: name, atLeast };
        }),
        ...names.flatMap((of) => [
          { quantity: "gone", of, atLeast: 99 },
          { quantity: "wrongExact", of, atMost: 0 },
        ]),
      ],
    };
  },
};

/** In a generated history the fate of each line is known, also of lines with equal text. */
function madeUp(files: number): Sample {
  const score = new AnchorScore();
  for (let seed = 1; seed <= files; seed++) {
    const tale = new Tale(seed);
    const first = [...tale.lines];
    const texts = [tale.texts(first)];
    for (let commit = 0; commit < MADE_COMMITS; commit++) {
      tale.commit();
      texts.push(tale.lines.map(({ text }) => text));
    }
    const now = new Map(tale.lines.map((line, index) => [line, index + 1]));
    const fates = first.map((line): Fate => {
      const there = now.get(line);
      if (there === undefined) return { kind: "gone" };
      return tale.isChanged(line) ? { kind: "rewritten" } : { kind: "surviving", line: there };
    });
    score.placeAll(texts, fates);
  }
  return score.sample;
}

/** The most starting points in one file. */
const MOST_STARTS = 6;

function publishedFiles(repositories: readonly string[], commits: number, files: number): Sample {
  const score = new AnchorScore();
  for (const repository of repositories) {
    const usable = [...fileVersions(repository, "main")].filter(
      ([, { length }]) => length > commits,
    );
    for (const [path, versions] of spreadOver(usable, files)) {
      const truth = new LineTruth(repository, path, versions);
      for (const from of startsOf(versions, commits)) {
        const texts = versions.slice(from, from + commits + 1).map(({ text }) => linesOf(text));
        score.placeAll(texts, truth.fates(from, from + commits));
      }
    }
  }
  return score.sample;
}

function startsOf({ length }: readonly FileVersion[], commits: number): number[] {
  const starts: number[] = [];
  const step = Math.max(commits, Math.ceil((length - commits) / MOST_STARTS));
  for (let from = 0; from + commits < length; from += step) starts.push(from);
  return starts;
}

/** At most so many, evenly distributed. */
function spreadOver<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, all.length / most);
  return Array.from(
    { length: Math.min(most, all.length) },
    (_, n) => all[Math.floor(n * step)],
  ).filter((one) => one !== undefined);
}

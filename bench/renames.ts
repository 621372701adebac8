import type { Bench } from "./harness/bench.ts";
import { npmHistory, type PublishedPackage } from "./harness/npm-history.ts";
import { RenameScore } from "./harness/renamed-files.ts";

const COMMITS = 20;

/** Published source code whose files were renamed, split and moved. None was used to tune anything. */
const PACKAGES: readonly PublishedPackage[] = [
  { name: "debug", from: "0.0.1", to: "4.3.7" },
  { name: "ws", from: "0.2.6", to: "8.18.0" },
  { name: "superagent", from: "0.1.0", to: "8.1.2" },
  { name: "winston", from: "0.1.0", to: "3.13.0" },
  { name: "nunjucks", from: "0.1.0", to: "3.2.4" },
  { name: "nodemailer", from: "0.1.0", to: "6.9.14" },
  { name: "chai", from: "0.1.0", to: "4.5.0" },
  { name: "karma", from: "0.8.0", to: "6.4.4" },
  { name: "knex", from: "0.1.0", to: "2.5.1" },
  { name: "mocha", from: "1.0.0", to: "10.7.3" },
];

const NOW = "commit by commit";
const BEFORE = "one git diff -M";

/** Comments on files that are not there any more under their name. */
export const renames: Bench = {
  name: "renames",
  plan: async ({ quick, offline }) => {
    const found: string[] = [];
    for (const some of quick ? PACKAGES.slice(0, 2) : PACKAGES) {
      const repository = await npmHistory(some, offline);
      if (repository !== undefined) found.push(repository);
    }
    const reason = "the releases of its packages are not downloaded, and --offline";
    const isThere = found.length > 0;
    const place = async (isOld: boolean) => {
      const score = new RenameScore(isOld);
      for (const repository of found) await score.placeAll(repository, COMMITS);
      return score.sample;
    };
    return {
      describe: `a comment on every line of files that have no such name ${COMMITS} releases later`,
      rounds: 1,
      quantities: [
        { key: "files", label: "files", unit: "", digits: 0 },
        { key: "survivingLines", label: "surviving", unit: "", digits: 0 },
        { key: "surviving", label: "placed right", unit: "%", digits: 2 },
        { key: "goneLines", label: "gone", unit: "", digits: 0 },
        { key: "gone", label: "called gone", unit: "%", digits: 2 },
        { key: "whole", label: "whole files right", unit: "%", digits: 1 },
        { key: "rewrittenLines", label: "rewritten", unit: "", digits: 0 },
        { key: "undecided", label: "undecided", unit: "", digits: 0 },
        { key: "misplaced", label: "elsewhere", unit: "", digits: 0 },
        { key: "exact", label: "called exact", unit: "", digits: 0 },
        { key: "wrongExact", label: "of those wrong", unit: "", digits: 0 },
      ],
      variants: isThere
        ? [
            { name: NOW, measure: () => place(false) },
            { name: BEFORE, measure: () => place(true) },
          ]
        : [],
      skipped: isThere ? [] : [{ name: NOW, reason }],
      comparisons: isThere
        ? [
            { quantity: "surviving", of: NOW, beside: BEFORE, atLeast: 99 },
            { quantity: "gone", of: NOW, beside: BEFORE, atLeast: 99 },
            { quantity: "wrongExact", of: NOW, atMost: 0 },
          ]
        : [],
    };
  },
};

import { AuthoredHistory } from "./harness/authored-history.ts";
import type { Bench } from "./harness/bench.ts";
import { npmHistory, type PublishedPackage } from "./harness/npm-history.ts";

/** Published source code, of which ten sessions of agents are made each. */
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

const ASKED = "trunkline blame";

/** Who wrote each line, after rebases, squashes and a formatter. */
export const authorship: Bench = {
  name: "authorship",
  plan: async ({ quick, offline }) => {
    const found: string[] = [];
    for (const some of quick ? PACKAGES.slice(0, 2) : PACKAGES) {
      const repository = await npmHistory(some, offline);
      if (repository !== undefined) found.push(repository);
    }
    const reason = "the releases of its packages are not downloaded, and --offline";
    const isThere = found.length > 0;
    const measure = async () => {
      using history = new AuthoredHistory();
      for (const repository of found) await history.replay(repository);
      return history.sample;
    };
    return {
      describe:
        "every line of files that sessions wrote, one a release; rebased, squashed, formatted",
      rounds: 1,
      quantities: [
        { key: "lines", label: "lines", unit: "", digits: 0 },
        { key: "undecided", label: "written twice", unit: "", digits: 0 },
        { key: "right", label: "right session", unit: "%", digits: 2 },
        { key: "certain", label: "called certain", unit: "%", digits: 2 },
        { key: "wrong", label: "wrong", unit: "", digits: 0 },
        { key: "wrongCertain", label: "wrong and certain", unit: "", digits: 0 },
        { key: "blameRight", label: "right by commit alone", unit: "%", digits: 2 },
        { key: "blameWrong", label: "wrong by commit alone", unit: "", digits: 0 },
      ],
      variants: isThere ? [{ name: ASKED, measure }] : [],
      skipped: isThere ? [] : [{ name: ASKED, reason }],
      comparisons: isThere ? [{ quantity: "wrongCertain", of: ASKED, atMost: 0 }] : [],
    };
  },
};

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Identities } from "../src/identity/identities.ts";
import { Git } from "../src/git/git.ts";
import type { Bench, Sample } from "./harness/bench.ts";

const GIT = "one git config call";
const DETECT = "detect";
const SWITCH = "switch";

/** Detecting the identity of a repository and switching to another, compared with one call of git. */
export const identityBench: Bench = {
  name: "identity",
  plan: async ({ quick }) => {
    const home = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => rmSync(home, { recursive: true, force: true }));
    const folder = join(home, "app");
    mkdirSync(folder);
    const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
    const run = (...args: string[]) => execFileSync("git", args, { cwd: folder, env });
    run("init", "-q");
    run("remote", "add", "origin", "git@github.com:acme/app.git");
    run("remote", "add", "fork", "https://github.com/ada/app.git");
    const file = {
      path: join(home, "config.jsonc"),
      isNamed: false,
      edit: async () => undefined,
      check: async () => undefined,
    };
    const identities = new Identities({
      settings: SETTINGS,
      file,
      data: join(home, "data"),
      env,
      cwd: folder,
    });
    const git = new Git(folder, { env });
    let switches = 0;
    const measures = {
      [GIT]: async () => {
        const url = await git.text(["config", "--get", "remote.origin.url"]);
        if (url !== "git@github.com:acme/app.git") throw new Error(`git answered '${url}'`);
      },
      [DETECT]: async () => {
        const { identity } = await identities.detect(".");
        if (identity !== "work") throw new Error(`'${identity}' was detected`);
      },
      [SWITCH]: async () => {
        switches++;
        const { id } = await identities.apply(".", () =>
          identities.planSwitch(switches % 2 === 0 ? "home" : "work", "."),
        );
        if (id === undefined) throw new Error("Nothing was switched");
      },
    };
    const times = quick ? 10 : 20;
    for (const measure of Object.values(measures)) await repeat(measure, times);
    return {
      describe: `in a repository with two remotes, signing and ssh key; mean of ${times}`,
      rounds: quick ? 7 : 31,
      quantities: [{ key: "wall", label: "time", unit: "ms", digits: 2 }],
      variants: Object.entries(measures).map(([name, measure]) => {
        return { name, measure: () => repeat(measure, times) };
      }),
      comparisons: [
        { quantity: "wall", of: DETECT, against: GIT, atMost: 2 },
        { quantity: "wall", of: SWITCH, against: GIT, atMost: 4 },
      ],
    };
  },
};

async function repeat(measure: () => Promise<void>, times: number): Promise<Sample> {
  const began = performance.now();
  for (let time = 0; time < times; time++) await measure();
  return { wall: (performance.now() - began) / times };
}

const COMMON = { provider: "github", user: "ada" } as const;
const SETTINGS = {
  work: {
    ...COMMON,
    email: "ada@acme.example",
    sshKey: "~/.ssh/id_work",
    organizations: ["acme"],
    signing: { format: "ssh" },
  },
  home: { ...COMMON, email: "ada@home.example", sshKey: "~/.ssh/id_home" },
} as const;

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { WorkStep } from "../src/authorship/work-history.ts";
import type { Bench, Variant } from "./harness/bench.ts";
import { ROOT } from "./harness/program.ts";
import { type Cost, costOf, wholeCost } from "./harness/whole-cost.ts";

const FILES = 50_000;
const NOTES = 10_000;
const LINES = 40;
const RECORD = join(ROOT, "bench/harness/record-work.ts");

const FLOOR = "bare Node";
const COMMIT = "git commit";
const DURING = "git commit, while changes are recorded";

/** Lines by how far git has to go back for them, which is what `git blame` costs. */
const PLACES = [
  "of the last commit",
  "of the commit in the middle",
  "of the first commit",
  "of an agent, not committed",
] as const;

/** What it costs to ask for a line, and to commit while an agent works and notes are on, in a large repository. */
export const authorshipCost: Bench = {
  name: "authorship-cost",
  plan: async ({ quick }) => {
    const [files, notes] = quick ? [FILES / 50, NOTES / 50] : [FILES, NOTES];
    const home = mkdtempSync(join(tmpdir(), "trunkline-cost-"));
    const { root, data } = prepare(home, files, notes);
    const options = { cwd: root, env: { ...process.env, HOME: home } };
    const variant = (name: string, command: string, ...args: string[]): Variant => {
      return { name, measure: async () => wholeCost(command, args, options) };
    };
    const program = join(ROOT, "dist/trunkline.js");
    const chosen = [notes - 1, notes / 2, files - 1, 1];
    const asked = PLACES.flatMap((place, at) => {
      const file = nameOf(chosen[at] ?? 0);
      const line = file === nameOf(1) ? 1 : 3;
      const why = [program, "why", `${file}:${line}`, "--data", data];
      return [
        variant(blameOf(place), "git", "blame", `-L${line},${line}`, "--", file),
        variant(whyOf(place), process.execPath, ...why),
      ];
    });
    return {
      describe: `${files} files, and ${notes} commits with a note each; each command with all that it starts`,
      rounds: quick ? 2 : 9,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "clock", label: "clock", unit: "ms", digits: 0 },
      ],
      variants: [
        variant(FLOOR, process.execPath, "--eval", "0"),
        ...asked,
        { name: COMMIT, measure: async () => commitIn(root) },
        { name: DURING, measure: () => commitDuring(root, data) },
      ],
      comparisons: (["cpu", "clock"] as const).flatMap((quantity) => [
        ...PLACES.map((place) => {
          return { quantity, of: whyOf(place), against: blameOf(place), atMost: 3 };
        }),
        { quantity, of: DURING, against: COMMIT, atMost: 1.3 },
      ]),
      end: async () => rmSync(home, { recursive: true, force: true }),
    };
  },
};

function blameOf(place: string): string {
  return `git blame -L, ${place}`;
}

function whyOf(place: string): string {
  return `trunkline why, ${place}`;
}

function prepare(home: string, files: number, notes: number) {
  const root = join(home, "work");
  const data = join(home, "data");
  const git = (...args: string[]): string => {
    return execFileSync("git", args, { cwd: root, encoding: "utf8" });
  };
  execFileSync("git", ["init", "--quiet", "--initial-branch=main", root]);
  const { status } = spawnSync("git", ["fast-import", "--quiet"], {
    cwd: root,
    input: made(files, notes),
  });
  if (status !== 0) throw new Error("git fast-import failed");
  git("reset", "--quiet", "--hard");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  // In processes of their own: what runs git in this one would be counted.
  const record = (step: WorkStep): void => {
    execFileSync(process.execPath, [RECORD, data, root, JSON.stringify(step)]);
  };
  record({ by: "person" });
  const path = nameOf(1);
  const text = `the line of an agent\n${linesOf(1)}`;
  writeFileSync(join(root, path), text);
  record({ by: "agent", session: "s1", agent: "claude", told: { [path]: text.split("\n") } });
  return { root, data };
}

function commitIn(root: string): Cost {
  writeFileSync(join(root, nameOf(2)), crypto.randomUUID());
  execFileSync("git", ["add", nameOf(2)], { cwd: root });
  return costOf(() => {
    execFileSync("git", ["commit", "--quiet", "--message", "One more"], { cwd: root });
  });
}

/** A commit while another process looks at the files and writes notes all the time. */
async function commitDuring(root: string, data: string): Promise<Cost> {
  const child = spawn(process.execPath, [RECORD, data, root], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const cost = commitIn(root);
  child.kill("SIGKILL");
  await once(child, "exit");
  return cost;
}

function nameOf(at: number): string {
  return `src/part${at % 97}/area${at % 13}/file${at}.ts`;
}

function linesOf(at: number): string {
  return Array.from({ length: LINES }, (_, n) => `line ${n} of file ${at}\n`).join("");
}

/** One commit with all files, and one with a note for each of some. */
function* commitsOf(files: number, notes: number): Generator<string> {
  const head = (mark: number): string => {
    const who = `Bob <bob@example.org> ${1_700_000_000 + mark} +0000`;
    return `commit refs/heads/main\nmark :${mark}\ncommitter ${who}\ndata 1\nx\n`;
  };
  const file = (at: number, text: string): string => {
    return `M 644 inline ${nameOf(at)}\ndata ${text.length}\n${text}\n`;
  };
  yield head(1);
  for (let at = 0; at < files; at++) yield file(at, linesOf(at));
  for (let at = 0; at < notes; at++) {
    yield head(at + 2) + file(at, linesOf(at).replace("line 2 ", "noted line 2 "));
  }
  yield "commit refs/notes/ai\ncommitter Bob <bob@example.org> 1700100000 +0000\ndata 1\nx\n";
  const agent = { agent_id: { tool: "cursor", id: "one", model: "auto" } };
  const metadata = JSON.stringify({ sessions: { s_00000000000001: agent } });
  for (let at = 0; at < notes; at++) {
    const note = `${nameOf(at)}\n  s_00000000000001 3\n---\n${metadata}`;
    yield `N inline :${at + 2}\ndata ${note.length}\n${note}\n`;
  }
}

function made(files: number, notes: number): Buffer {
  return Buffer.from([...commitsOf(files, notes)].join(""));
}

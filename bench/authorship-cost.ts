import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { WorkHistory } from "../src/authorship/work-history.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { ROOT } from "./harness/program.ts";

const FILES = 50_000;
const NOTES = 10_000;
const LINES = 40;
const ASKED = "a large repository";

/** What it costs to ask for a line, and to commit while an agent works, in a large repository. */
export const authorshipCost: Bench = {
  name: "authorship-cost",
  plan: async ({ quick }) => {
    const [files, notes] = quick ? [FILES / 50, NOTES / 50] : [FILES, NOTES];
    return {
      describe: `${files} files, and ${notes} commits with a note each; milliseconds`,
      rounds: 1,
      quantities: [
        { key: "blame", label: "git blame -L", unit: "ms", digits: 0 },
        { key: "why", label: "why", unit: "ms", digits: 0 },
        { key: "start", label: "of that, --version", unit: "ms", digits: 0 },
        { key: "first", label: "first look", unit: "ms", digits: 0 },
        { key: "look", label: "later look", unit: "ms", digits: 0 },
        { key: "commit", label: "commit", unit: "ms", digits: 0 },
        { key: "during", label: "commit in a turn", unit: "ms", digits: 0 },
      ],
      variants: [{ name: ASKED, measure: () => measure(files, notes) }],
      skipped: [],
      comparisons: [],
    };
  },
};

async function measure(files: number, notes: number): Promise<Sample> {
  const home = mkdtempSync(join(tmpdir(), "trunkline-cost-"));
  try {
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
    const history = WorkHistory.of(data, root);
    if (history === undefined) throw new Error("The made repository is none");
    const first = await timed(() => history.record({ by: "person" }));
    const path = nameOf(1);
    const text = `the line of an agent\n${linesOf(1)}`;
    writeFileSync(join(root, path), text);
    const step = { by: "agent", session: "s1", agent: "claude" } as const;
    await history.record({ ...step, told: { [path]: text.split("\n") } });
    const look = await timed(() => history.record({ by: "person" }));
    const commit = async (): Promise<number> => {
      writeFileSync(join(root, nameOf(2)), crypto.randomUUID());
      git("add", nameOf(2));
      return await timed(() => git("commit", "--quiet", "--message", "One more"));
    };
    const run = (...args: string[]): string => {
      const env = { ...process.env, HOME: home };
      const program = [join(ROOT, "dist/trunkline.js"), ...args, "--data", data];
      return execFileSync(process.execPath, program, { cwd: root, env, encoding: "utf8" });
    };
    const line = `${nameOf(notes - 1)}:3`;
    run("why", line);
    const why = await timed(() => run("why", line));
    const start = await timed(() => run("--version"));
    const blame = await timed(() => git("blame", "-L3,3", "--", nameOf(notes - 1)));
    const alone = await commit();
    using _turn = await history.enter("s1");
    const looking = history.record({ by: "person" });
    const during = await commit();
    await looking;
    return { blame, why, start, first, look, commit: alone, during };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
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

// The tasks of the evaluation with a real model: `node test/eval/real-model.ts [WORDS OF TASKS]`.
// It runs the built program (`npm run build`) with the person's own models and sandbox, and prints a table.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { prepare, problemsOf } from "./judge.ts";
import { type Task, TASKS } from "./tasks.ts";

const PROGRAM = join(import.meta.dirname, "../../dist/trunkline.js");
/** Milliseconds after which the person makes their edit, if the task has one. */
const PERSON = 4_000;

interface Outcome {
  readonly problems: readonly string[];
  readonly seconds: number;
  readonly tokens: number;
  readonly model: string | undefined;
}

async function attempt(task: Task): Promise<Outcome> {
  const cwd = mkdtempSync(join(tmpdir(), "trunkline-eval-"));
  try {
    const start = prepare(task, cwd);
    const started = performance.now();
    const child = spawn(process.execPath, [PROGRAM, "chat", "--yes", "--json", task.prompt], {
      cwd,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { person } = task;
    const edits = setTimeout(() => {
      if (person === undefined) return;
      const path = join(cwd, person.file);
      writeFileSync(path, person.change(readFileSync(path, "utf8")));
    }, PERSON);
    const said = await text(child.stdout);
    clearTimeout(edits);
    const { model, usage } = JSON.parse(said || "{}") as {
      model?: string;
      usage?: { totalTokens?: number };
    };
    const seconds = Math.round((performance.now() - started) / 1000);
    const tokens = usage?.totalTokens ?? 0;
    return { problems: problemsOf(task, cwd, start), seconds, tokens, model };
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const words = process.argv.slice(2);
const wanted = TASKS.filter(({ name }) => words.every((word) => name.includes(word)));
let solved = 0;
let used = 0;
let by: string | undefined;
print("| task | solved | seconds | tokens | problems |\n|---|---|---|---|---|");
for (const task of wanted) {
  const { problems, seconds, tokens, model } = await attempt(task);
  if (problems.length === 0) solved++;
  used += tokens;
  by ??= model;
  const why = problems.join("; ").replaceAll("|", "\\|").replaceAll("\n", " ").slice(0, 200);
  print(
    `| ${task.name} | ${problems.length === 0 ? "yes" : "no"} | ${seconds} | ${tokens} | ${why} |`,
  );
}
print(`\n${solved} of ${wanted.length} solved. For the table in docs/AGENT.md:\n`);
const today = new Date().toISOString().slice(0, 10);
print(`| ${by ?? "no model"} | ${solved} | ${used} | ${today} |`);
process.exitCode = solved === wanted.length ? 0 : 1;

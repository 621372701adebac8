import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { REPOSITORIES } from "./repositories.ts";
import type { Task } from "./tasks.ts";

const WHO = [
  "-c",
  "user.name=T",
  "-c",
  "user.email=t@example.org",
  "-c",
  "init.defaultBranch=main",
];

function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", [...WHO, ...args], { cwd, encoding: "utf8" });
}

/** Makes the repository of a task. Returns its first commit. */
export function prepare({ repository }: Task, cwd: string): string {
  for (const [name, text] of Object.entries(REPOSITORIES[repository] ?? {})) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  git(cwd, "init", "-q");
  for (const [name, value] of [
    ["user.name", "T"],
    ["user.email", "t@example.org"],
    ["core.autocrlf", "false"],
    ["maintenance.auto", "false"],
  ] as const) {
    git(cwd, "config", name, value);
  }
  git(cwd, "add", "-A");
  git(cwd, "commit", "-q", "-m", "Begin");
  return git(cwd, "rev-parse", "HEAD").trim();
}

/** What is wrong with the result of a task: files, what else has changed, and its tests. */
export function problemsOf({ result, repository }: Task, cwd: string, start: string): string[] {
  const problems: string[] = [];
  git(cwd, "add", "-A");
  const names = git(cwd, "diff", "--cached", "--name-only", "--no-renames", start);
  const changed = names.split("\n").filter(Boolean).toSorted();
  const wanted = Object.keys(result).toSorted();
  if (changed.join() !== wanted.join()) {
    problems.push(`changed are ${changed.join(", ")}, and not ${wanted.join(", ")}`);
  }
  for (const [name, pattern] of Object.entries(result)) {
    const path = join(cwd, name);
    const text = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    const isRight =
      pattern === null ? text === undefined : text !== undefined && pattern.test(text);
    if (!isRight) problems.push(`${name} holds ${JSON.stringify(text)}`);
  }
  if (repository !== "site" && problems.length === 0) {
    try {
      // In a test, it would report to the runner of that.
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      execFileSync(process.execPath, ["--test"], { cwd, env, stdio: "pipe" });
    } catch (error) {
      problems.push(`its tests fail: ${String((error as { stdout?: Buffer }).stdout).slice(-500)}`);
    }
  }
  return problems;
}

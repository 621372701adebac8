import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { isMarkOfEnded } from "../src/base/process/process-mark.ts";
import { processOf, processTable } from "../src/base/process/process-table.ts";
import type { TestNote } from "../test/support/note-test.ts";
import { commandOf, endProcess, processesOf } from "../test/support/processes.ts";

// Runs beside Node's test runner (run-tests.mjs), until its input ends. It ends each process that has
// noted nothing for long, with all that it started, and names them. Node's own limits end a test, but
// no process that is stuck in a loop, in an import or after its tests, and nothing that a test has started.

/** Milliseconds. */
const EVERY = 5_000;
/** Rounds in which processes are ended that are started meanwhile. */
const MOST_ROUNDS = 100;

const [, , folder = "", seconds = ""] = process.argv;
const patience = Number(seconds);
const ended: string[] = [];

const looking = setInterval(() => {
  for (const { pid, note } of hanging()) ended.push(endTests(pid, note));
}, EVERY);
// Ctrl-C is sent to this process, too.
process.on("SIGINT", () => {});
process.stdin.resume().on("close", () => {
  clearInterval(looking);
  rmSync(folder, { recursive: true });
  // Again, after the list of failures.
  process.stderr.write(ended.join(""));
});

function hanging(): { pid: number; note: TestNote }[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs < patience * 1000) return [];
    const note = JSON.parse(readFileSync(path, "utf8")) as TestNote;
    rmSync(path);
    return isMarkOfEnded(name) ? [] : [{ pid: Number.parseInt(name, 10), note }];
  });
}

function endTests(pid: number, note: TestNote): string {
  const where = note.test === undefined ? "outside of its tests" : `in the test '${note.test}'`;
  let left = startedBy(pid, note.folder);
  const lines = left.map((each) => `  process ${each}: ${nameOf(each)}\n`);
  const says = `${note.file} has done nothing for ${patience} s, ${where}. Ended, with what it started:`;
  process.stderr.write(`${says}\n${lines.join("")}`);
  // Until they are dead they may start others.
  for (let round = 0; round < MOST_ROUNDS && left.length > 0; round++) {
    for (const each of left) endProcess(each);
    left = startedBy(pid, note.folder);
  }
  rmSync(note.folder, { recursive: true, force: true, maxRetries: 3 });
  return `${says}\n${lines.join("")}`;
}

/** It, its offspring, and what has the folder of its file and may have another parent by now. */
function startedBy(root: number, temporary: string): number[] {
  const found = new Set([root, ...processesOf(temporary).map(({ pid }) => pid)]);
  const table = [...processTable()].flat();
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const { pid, parent } of table) if (found.has(parent)) found.add(pid);
  }
  return [...found].filter((pid) => processOf(pid) !== undefined);
}

/** The runner gives all options of Node to its processes. */
function nameOf(pid: number): string {
  try {
    return commandOf(pid).replace(/^(.{80}).+(.{120})$/, "$1 … $2");
  } catch {
    return "?";
  }
}

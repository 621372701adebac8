import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A text as words, each with its line (from 0). */
export interface Words {
  readonly words: readonly string[];
  readonly lines: readonly number[];
}

/**
 * Splits a text into words. What a formatter changes is left out: space, quotes, `;`, `,` and
 * brackets around an expression, and the marks before a line of a comment.
 */
export function wordsOf(text: string): Words {
  const words: string[] = [];
  const lines: number[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    const content = line.replace(/^\s*(?:\/\/+|\/?\*+\/?(?=\s|$)|#+(?=\s|$))|\*+\/\s*$/g, "");
    for (const [word] of content.matchAll(/[\p{L}\p{N}_$]+|[^\s'"`;,()]/gu)) {
      words.push(word);
      lines.push(at);
    }
  }
  return { words, lines };
}

/**
 * For each pair of texts, the index of each word of the first in the second, or -1. Git compares
 * them, one word a line: none of our code decides here.
 */
export function wordMaps(pairs: readonly (readonly [Words, Words])[]): Int32Array[] {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-words-"));
  try {
    for (const side of [0, 1] as const) {
      mkdirSync(join(folder, `${side}`));
      for (const [n, pair] of pairs.entries()) {
        writeFileSync(join(folder, `${side}`, `${n}`), `${pair[side].words.join("\n")}\n`);
      }
    }
    const how = ["--no-index", "--no-color", "--no-ext-diff", "--no-renames", "-U0", "--histogram"];
    const { status, stdout, stderr } = spawnSync("git", ["diff", ...how, "0", "1"], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 30,
    });
    if (status !== 0 && status !== 1) throw new Error(`git diff failed: ${stderr}`);
    const hunks = Map.groupBy(hunksOf(stdout), ({ pair }) => pair);
    return pairs.map(([{ words }], n) => mapOf(words.length, hunks.get(n) ?? []));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Hunk {
  readonly pair: number;
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

function* hunksOf(diff: string): Generator<Hunk> {
  let pair = -1;
  for (const line of diff.split("\n")) {
    const [, file] = /^diff --git a\/0\/(\d+) /.exec(line) ?? [];
    if (file !== undefined) pair = Number(file);
    const [, oldAt, oldCount = "1", newAt, newCount = "1"] =
      /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (oldAt === undefined) continue;
    // For an empty side of a hunk, git gives the number of the line before it.
    const oldFrom = Number(oldAt) - (oldCount === "0" ? 0 : 1);
    const newFrom = Number(newAt) - (newCount === "0" ? 0 : 1);
    yield { pair, oldFrom, oldTo: oldFrom + +oldCount, newFrom, newTo: newFrom + +newCount };
  }
}

function mapOf(length: number, hunks: readonly Hunk[]): Int32Array {
  const map = new Int32Array(length).fill(-1);
  let [from, to] = [0, 0];
  for (const { oldFrom, oldTo, newFrom, newTo } of hunks) {
    while (from < oldFrom) map[from++] = to++;
    [from, to] = [oldTo, newTo];
    if (newFrom > to) throw new Error("The hunks of a diff are not in order.");
  }
  while (from < length) map[from++] = to++;
  return map;
}

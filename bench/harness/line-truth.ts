import { execFileSync } from "node:child_process";

import type { Fate } from "./anchor-score.ts";
import type { FileVersion } from "./file-versions.ts";
import { type Words, wordMaps, wordsOf } from "./token-truth.ts";

/** Two lines with this share of their words in common, or more, are versions of one line. */
const WORDS_LEFT = 0.5;

/**
 * Where the lines of a version of a file are in a later one, by two truths that share no code with
 * ours.
 *
 * - `git blame --reverse -w -M --first-parent` follows lines through the commits: it knows lines
 *   that kept their words, reindented and moved ones too. If it finds two lines in one place, one of
 *   them was a copy, and neither is decided.
 * - Of a line that it has lost, git compares the words, commit by commit. If all of them are there,
 *   one after the other, on lines that have only words of the old text, the line was re-quoted or
 *   re-wrapped, and is where its first word is.
 * - If both find a line, in different places, it is undecided.
 * - Otherwise the line is gone if its words are: if neither that comparison nor any line of the later
 *   version that blame has not given to another has half of its words. If one has, it was rewritten;
 *   if one has all of them, it is undecided: it may be the same line or another.
 */
export class LineTruth {
  readonly #repository: string;
  readonly #path: string;
  readonly #versions: readonly FileVersion[];
  readonly #words: readonly Words[];
  readonly #steps: readonly Int32Array[];

  constructor(repository: string, path: string, versions: readonly FileVersion[]) {
    this.#repository = repository;
    this.#path = path;
    this.#versions = versions;
    this.#words = versions.map(({ text }) => wordsOf(text));
    const words = this.#words;
    this.#steps = wordMaps(words.slice(1).map((next, n) => [words[n] ?? next, next]));
  }

  /** The fate of each line of one version in another. */
  fates(from: number, to: number, blamed = this.blame(from, to)): Fate[] {
    const [before, now] = [this.#words[from], this.#words[to]];
    if (before === undefined || now === undefined) return [];
    const chained = Int32Array.from(before.words.keys(), (word) => {
      let at = word;
      for (let step = from; step < to && at >= 0; step++) at = this.#steps[step]?.[at] ?? -1;
      return at;
    });
    const [oldLines, newLines] = [byLine(before), byLine(now)];
    const known = new Set(chained);
    const isOld = (line: number): boolean => {
      const { first, words } = newLines[line] ?? { first: 0, words: [] };
      return words.every((_, n) => known.has(first + n));
    };
    const owned = new Map<number, number>();
    for (const line of blamed) {
      if (line !== undefined) owned.set(line, (owned.get(line) ?? 0) + 1);
    }
    const free = newLines.filter((_, at) => !owned.has(at + 1)).map(({ words }) => words);
    return blamed.map((line, at): Fate => {
      const { first, words } = oldLines[at] ?? { first: 0, words: [] };
      if (words.length === 0) return { kind: "undecided" };
      const there = wholeAt(chained, first, first + words.length);
      const [start = 0, end = 0] =
        there === undefined ? [] : [now.lines[there], now.lines[there + words.length - 1]];
      if (line !== undefined) {
        const isDecided = owned.get(line) === 1 && (there === undefined || start === line - 1);
        return isDecided ? { kind: "surviving", line } : { kind: "undecided" };
      }
      if (there !== undefined) {
        const place = Array.from({ length: end - start + 1 }, (_, n) => start + n);
        if (place.every(isOld)) return { kind: "reformatted", line: start + 1 };
      }
      const alike = Math.max(0, ...free.map((other) => common(words, other)));
      if (alike === 1) return { kind: "undecided" };
      const left = shareLeft(chained.subarray(first, first + words.length));
      return { kind: Math.max(alike, left) >= WORDS_LEFT ? "rewritten" : "gone" };
    });
  }

  /** The number of each line in the later version, or undefined if blame has lost it. */
  blame(from: number, to: number): (number | undefined)[] {
    const [first, last] = [this.#versions[from], this.#versions[to]];
    if (first === undefined || last === undefined) return [];
    const how = ["--reverse", "-w", "-M", "--first-parent", "--porcelain"];
    const args = ["blame", ...how, `${first.commit}..${last.commit}`, "--", this.#path];
    const out = execFileSync("git", args, {
      cwd: this.#repository,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lines: (number | undefined)[] = [];
    for (const [, commit, there, here] of out.matchAll(/^([0-9a-f]{40}) (\d+) (\d+)/gm)) {
      lines[Number(here) - 1] = commit === last.commit ? Number(there) : undefined;
    }
    return Array.from(lines);
  }
}

interface LineOfWords {
  /** Index of its first word in the text. */
  readonly first: number;
  readonly words: readonly string[];
}

function byLine({ words, lines }: Words): LineOfWords[] {
  const all: { first: number; words: string[] }[] = [];
  for (const [index, line] of lines.entries()) {
    while (all.length <= line) all.push({ first: index, words: [] });
    all[line]?.words.push(words[index] ?? "");
  }
  return all;
}

/** Where words are that all are there, one after the other. */
function wholeAt(map: Int32Array, first: number, end: number): number | undefined {
  const there = map[first] ?? -1;
  if (there < 0) return undefined;
  for (let n = first; n < end; n++) if (map[n] !== there + n - first) return undefined;
  return there;
}

/** The share of words that are still there, close to each other. */
function shareLeft(map: Int32Array): number {
  const left = map.filter((at) => at >= 0);
  const span = (left.at(-1) ?? 0) - (left[0] ?? 0) + 1;
  return span > 2 * map.length ? 0 : left.length / map.length;
}

/** The share of words that two lines have in common. */
function common(one: readonly string[], other: readonly string[]): number {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  // Most pairs are of too different length to have enough in common.
  if ((2 * shorter.length) / (one.length + other.length) < WORDS_LEFT) return 0;
  const left = [...longer];
  let both = 0;
  for (const word of shorter) {
    const at = left.indexOf(word);
    if (at < 0) continue;
    left.splice(at, 1);
    both++;
  }
  return (2 * both) / (one.length + other.length);
}

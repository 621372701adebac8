import { execFileSync } from "node:child_process";

import type { Fate } from "./anchor-score.ts";

/** Where a line of one version is in the next: its index, or its fate. */
type Step = number | "gone" | "undecided";

/** A version of a file, and its changes since the previous one according to git. */
interface Version {
  readonly lines: readonly string[];
  readonly hunks: readonly Hunk[];
}

interface Hunk {
  readonly oldFrom: number;
  readonly removed: readonly string[];
  readonly newFrom: number;
  readonly added: readonly string[];
}

/** Git's own threshold for moved lines (`git blame -M`). */
const LETTERS_OF_A_MOVE = 20;
/** A line that keeps more than this share of its words was rewritten, not replaced. */
const WORDS_LEFT = 0.6;

/**
 * The fate of the lines of a file according to git, without our code: commit by commit, by
 * `git diff --diff-algorithm=histogram`.
 *
 * - A line that no hunk touches survives.
 * - A line that a hunk removes was moved if the commit adds the same words once and removes them
 *   once, and they have 20 letters or more.
 * - Otherwise it was rewritten if the hunk adds a line with most of its words (more than 0.6 of both
 *   lines' words are common, lines in the same order). It is followed further, and counts as rewritten
 *   unless it has its first words again in the end.
 * - Otherwise, if its words have 20 letters or more: if the commit adds them once and removes them once
 *   among the remaining lines, it was moved; if it adds them more often, it is undecided; so is a line
 *   that a later commit restores.
 * - Otherwise it is gone.
 */
export class GitTruth {
  readonly texts: readonly (readonly string[])[];
  readonly #fates: readonly Fate[];

  constructor(repository: string, path: string, commits: readonly string[]) {
    const git = (...args: string[]): string =>
      execFileSync("git", args, { cwd: repository, encoding: "utf8", maxBuffer: 1 << 28 });
    const textOf = (commit: string): string[] =>
      git("cat-file", "blob", `${commit}:${path}`).replace(/\n$/, "").split("\n");
    const versions = commits.map((commit, index): Version => {
      const before = commits[index - 1];
      const how = ["--diff-algorithm=histogram", "--no-color", "--no-ext-diff", "-U0"];
      const diff = before === undefined ? "" : git("diff", ...how, before, commit, "--", path);
      return { lines: textOf(commit), hunks: hunksOf(diff) };
    });
    this.texts = versions.map(({ lines }) => lines);
    this.#fates = fatesOf(versions);
  }

  fateOf(at: number): Fate {
    return this.#fates[at] ?? { kind: "undecided" };
  }
}

function fatesOf([first, ...later]: readonly Version[]): Fate[] {
  const steps = later.map(({ hunks }) => stepOf(hunks));
  const added = later.map(({ hunks }) => new Set(hunks.flatMap((hunk) => hunk.added)));
  return (first?.lines ?? []).map((text, index): Fate => {
    let at = index;
    for (const [number, step] of steps.entries()) {
      const next = step(at);
      if (next === "undecided") return { kind: "undecided" };
      if (next === "gone") {
        const isBack = isLong(text) && added.slice(number + 1).some((lines) => lines.has(text));
        return { kind: isBack ? "undecided" : "gone" };
      }
      at = next;
    }
    const isSame = later.at(-1)?.lines[at] === text;
    return { kind: isSame ? "surviving" : "rewritten", line: at + 1 };
  });
}

/** Follows a line from one version to the next. */
function stepOf(hunks: readonly Hunk[]): (at: number) => Step {
  const known = movesIn(hunks);
  const movedTo = new Set(known.values());
  for (const hunk of hunks) {
    const { oldFrom, newFrom } = hunk;
    const removed = hunk.removed.map((text, n) => (known.has(oldFrom + n) ? "" : text));
    const added = hunk.added.map((text, n) => (movedTo.has(newFrom + n) ? "" : text));
    for (const [from, to] of rewritten(removed, added)) known.set(oldFrom + from, newFrom + to);
  }
  const taken = new Set(known.values());
  const added = hunks.flatMap(({ newFrom, added: lines }) =>
    lines.flatMap((text, n) => (taken.has(newFrom + n) ? [] : [{ text, at: newFrom + n }])),
  );
  const removed = hunks.flatMap(({ oldFrom, removed: lines }) =>
    lines.filter((_, n) => !known.has(oldFrom + n)),
  );
  return (at) => {
    const found = known.get(at);
    if (found !== undefined) return found;
    const hunk = hunks.findLast(({ oldFrom }) => oldFrom <= at);
    if (hunk === undefined) return at;
    const text = hunk.removed[at - hunk.oldFrom];
    if (text === undefined) {
      return at - hunk.oldFrom - hunk.removed.length + hunk.newFrom + hunk.added.length;
    }
    const there = added.filter((line) => line.text === text);
    const [only] = there;
    if (only === undefined || !isLong(text)) return "gone";
    const isOne = there.length === 1 && removed.filter((line) => line === text).length === 1;
    return isOne ? only.at : "undecided";
  };
}

/** Long lines that are removed once and added once. */
function movesIn(hunks: readonly Hunk[]): Map<number, number> {
  const from = placesOf(hunks.map(({ oldFrom, removed }) => [oldFrom, removed]));
  const to = placesOf(hunks.map(({ newFrom, added }) => [newFrom, added]));
  const moves = new Map<number, number>();
  for (const [text, [at = 0, ...more]] of from) {
    const [there, ...others] = to.get(text) ?? [];
    const isOne = more.length === 0 && others.length === 0;
    if (isLong(text) && isOne && there !== undefined) moves.set(at, there);
  }
  return moves;
}

/** The indexes of each text. */
function placesOf(parts: readonly [number, readonly string[]][]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [first, lines] of parts) {
    for (const [n, text] of lines.entries()) {
      places.set(text, [...(places.get(text) ?? []), first + n]);
    }
  }
  return places;
}

function isLong(text: string): boolean {
  return (text.match(/[\p{L}\p{N}]/gu)?.length ?? 0) >= LETTERS_OF_A_MOVE;
}

/** Pairs of lines in the same order that have the most words in common. */
function rewritten(removed: readonly string[], added: readonly string[]): [number, number][] {
  if (removed.length * added.length > 250_000) return [];
  const [old, now] = [removed.map(wordsOf), added.map(wordsOf)];
  const likeness = old.map((one) => now.map((other) => common(one, other)));
  const best = Array.from({ length: old.length + 1 }, () => new Float64Array(now.length + 1));
  const at = (i: number, j: number): number => best[i]?.[j] ?? 0;
  const pair = (i: number, j: number): number => {
    const alike = likeness[i]?.[j] ?? 0;
    return alike > WORDS_LEFT ? alike : -Infinity;
  };
  for (let i = old.length - 1; i >= 0; i--) {
    const row = best[i] ?? new Float64Array();
    for (let j = now.length - 1; j >= 0; j--) {
      row[j] = Math.max(at(i + 1, j), at(i, j + 1), at(i + 1, j + 1) + pair(i, j));
    }
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < old.length && j < now.length;) {
    if (at(i, j) === at(i + 1, j + 1) + pair(i, j)) pairs.push([i++, j++]);
    else if (at(i, j) === at(i + 1, j)) i++;
    else j++;
  }
  return pairs;
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

/** The share of words that two lines have in common. */
function common(one: readonly string[], other: readonly string[]): number {
  if (one.length + other.length === 0) return 0;
  const left = [...other];
  let both = 0;
  for (const word of one) {
    const at = left.indexOf(word);
    if (at < 0) continue;
    left.splice(at, 1);
    both++;
  }
  return (2 * both) / (one.length + other.length);
}

function hunksOf(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  const [, ...parts] = diff.split(/^(?=@@ -)/m);
  for (const part of parts) {
    const [head = "", ...body] = part.split("\n");
    const [, oldAt, oldCount = "1", newAt, newCount = "1"] =
      /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(head) ?? [];
    // For an empty side of a hunk, git gives the number of the line before it.
    const from = (line: string | undefined, count: string): number =>
      Number(line) - (count === "0" ? 0 : 1);
    hunks.push({
      oldFrom: from(oldAt, oldCount),
      removed: body.filter((line) => line.startsWith("-")).map((line) => line.slice(1)),
      newFrom: from(newAt, newCount),
      added: body.filter((line) => line.startsWith("+")).map((line) => line.slice(1)),
    });
  }
  return hunks;
}

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Anchor } from "../../src/store/schema.gen.ts";
import { blobId, FileText, linesOf } from "../../src/review/anchor/file-text.ts";
import { LineMatcher } from "../../src/review/anchor/line-position.ts";
import { findThrough } from "./find-through.ts";
import { type LocatedLines, Locator } from "../../src/review/anchor/locator.ts";
import type { Sample } from "./bench.ts";
import { wordsOf } from "./token-truth.ts";

/** The most files of one pair of commits. */
const MOST_FILES = 12;
/** Two lines with this share of their words in common, or more, are versions of one line. */
const WORDS_LEFT = 0.5;

/**
 * Where a line went: `undecided` where nobody can say, `rewritten` where its words are elsewhere in
 * other words, so that both answers are acceptable.
 */
export type FileFate =
  | { readonly kind: "surviving"; readonly path: string; readonly line: number }
  | { readonly kind: "gone" | "rewritten" | "undecided" };

type Git = (...args: string[]) => string;

function gitIn(folder: string): Git {
  return (...args) =>
    execFileSync("git", args, {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"],
    });
}

/**
 * Comments on lines of files that have another name, or are gone, some commits later: by the program as
 * it is, or as it was, with one `git diff -M` between the two commits.
 */
export class RenameScore {
  readonly #counts = { surviving: 0, gone: 0, rewritten: 0, undecided: 0 };
  readonly #right = { ...this.#counts };
  readonly #misses: string[] = [];
  #exact = 0;
  #wrongExact = 0;
  #misplaced = 0;
  #files = 0;
  #wholeRight = 0;
  #whole = 0;
  readonly #isOld: boolean;

  constructor(isOld: boolean) {
    this.#isOld = isOld;
  }

  get misses(): readonly string[] {
    return this.#misses;
  }

  /** Pairs of commits that are so far apart, all through a history. */
  async placeAll(repository: string, commits: number): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-renames-"));
    try {
      gitIn(folder)("clone", "--quiet", "--shared", repository, "work");
      const root = join(folder, "work");
      const git = gitIn(root);
      const all = git("rev-list", "--first-parent", "--reverse", "HEAD").trim().split("\n");
      for (let at = 0; at + commits < all.length; at += commits) {
        const [from = "", to = ""] = [all[at], all[at + commits]];
        const names = git("diff", "--no-renames", "--diff-filter=D", "--name-only", "-z", from, to);
        const paths = spread(names.split("\0").filter(isCode), MOST_FILES);
        if (paths.length === 0) continue;
        git("checkout", "--quiet", "--force", "--detach", to);
        await this.#placeIn(root, from, to, paths);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  async #placeIn(root: string, from: string, to: string, paths: readonly string[]): Promise<void> {
    const git = gitIn(root);
    const text = (commit: string, path: string): string => git("show", `${commit}:${path}`);
    const stored = new Map<string, Uint8Array>();
    const reviews = { text: async (blob: string) => stored.get(blob) };
    const locator = new Locator(root, reviews);
    const old = this.#isOld ? new OneDiff(git, from, to) : undefined;
    const read = (commit: string): Map<string, string[]> => {
      const names = git("ls-tree", "-r", "-z", "--name-only", commit).split("\0").filter(Boolean);
      return new Map(names.map((path) => [path, linesOf(text(commit, path))]));
    };
    const [then, now] = [read(from), read(to)];
    const place = async (path: string): Promise<void> => {
      const content = Buffer.from(text(from, path));
      const lines = linesOf(content.toString("utf8"));
      const blob = blobId(content);
      stored.set(blob, content);
      const anchor = { path, side: "new", blob, commit: from } as const;
      const fates = fatesOf(git, { from, to, path }, then, now);
      this.#files++;
      const find = async (which: Anchor): Promise<LocatedLines> =>
        old === undefined ? locator.locate(which) : old.locate(which, content);
      const found = await Promise.all(
        lines.map((_, n) => find({ ...anchor, line: n + 1, end: n + 1 })),
      );
      const whole = await find(anchor);
      for (const [n, line] of lines.entries()) {
        const fate = fates[n];
        const place = found[n];
        if (fate && place && /[\p{L}\p{N}]/u.test(line))
          this.#score(fate, place, `${from}:${path}:${n + 1} ${line}`);
      }
      const main = mostly(fates);
      if (main === undefined) return;
      this.#whole++;
      const isRight = main === "" ? whole.confidence === "gone" : whole.path === main;
      if (isRight) this.#wholeRight++;
      else
        this.#misses.push(
          `whole ${from}:${path} is ${main}, said ${whole.path} ${whole.confidence}`,
        );
    };
    await Promise.all(paths.map(place));
  }

  #score(fate: FileFate, place: LocatedLines, what: string): void {
    this.#counts[fate.kind]++;
    if (fate.kind === "undecided") return;
    const isRight =
      fate.kind === "surviving"
        ? place.line === fate.line && place.path === fate.path
        : place.line === undefined;
    if (isRight) this.#right[fate.kind]++;
    else if (fate.kind !== "rewritten") {
      if (place.line !== undefined) this.#misplaced++;
      const said = `${place.path}:${place.line} ${place.confidence} ${place.method}`;
      const is = fate.kind === "surviving" ? `${fate.path}:${fate.line}` : fate.kind;
      this.#misses.push(`${what}\n    is ${is}, said ${said}`);
    }
    if (place.confidence !== "exact") return;
    this.#exact++;
    if (!isRight) this.#wrongExact++;
  }

  get sample(): Sample {
    const { surviving, gone, rewritten, undecided } = this.#counts;
    const share = (some: number, of: number): number => (100 * some) / Math.max(1, of);
    return {
      lines: surviving + gone + rewritten,
      files: this.#files,
      surviving: share(this.#right.surviving, surviving),
      survivingLines: surviving,
      gone: share(this.#right.gone, gone),
      goneLines: gone,
      whole: share(this.#wholeRight, this.#whole),
      rewrittenLines: rewritten,
      undecided,
      misplaced: this.#misplaced,
      exact: this.#exact,
      wrongExact: this.#wrongExact,
    };
  }
}

/** The way of before: the file has the name that one comparison of the two commits finds. */
class OneDiff {
  readonly #git: Git;
  readonly #to: string;
  readonly #names: ReadonlyMap<string, string>;
  readonly #matchers = new Map<string, LineMatcher>();

  constructor(git: Git, from: string, to: string) {
    this.#git = git;
    this.#to = to;
    const fields = git("diff", "-M", "--diff-filter=R", "--name-status", "-z", from, to).split(
      "\0",
    );
    const names = new Map<string, string>();
    for (let at = 0; at + 2 < fields.length; at += 3)
      names.set(fields[at + 1] ?? "", fields[at + 2] ?? "");
    this.#names = names;
  }

  locate({ path, line }: Anchor, content: Uint8Array): LocatedLines {
    const now = this.#names.get(path);
    if (now === undefined) return { path, confidence: "gone", method: "none" };
    if (line === undefined) return { path: now, confidence: "exact", method: "diff" };
    const matcher = this.#matchers.getOrInsertComputed(path, () => {
      const after = Buffer.from(this.#git("show", `${this.#to}:${now}`));
      return new LineMatcher(new FileText(content), new FileText(after));
    });
    const direct = matcher.find(line - 1, line - 1);
    return {
      path: now,
      ...(direct.confidence === "exact" ? direct : findThrough([matcher], line - 1, line - 1)),
    };
  }
}

function isCode(path: string): boolean {
  return /\.(?:m?js|ts)$/.test(path);
}

type Texts = ReadonlyMap<string, readonly string[]>;

/**
 * `git blame --reverse` follows lines through the commits, to other files too, and shares no code with
 * ours. It is not decided where lines are that it finds in a file that had them before, or of which
 * there are several copies. A line that it has lost is gone if no line of the later commit has half of
 * its words.
 */
function fatesOf(
  git: Git,
  { from, to, path }: { readonly from: string; readonly to: string; readonly path: string },
  then: Texts,
  now: Texts,
): FileFate[] {
  const lines = then.get(path) ?? [];
  const how = ["--reverse", "-w", "-M", "-C", "-C", "--first-parent", "--line-porcelain"];
  const out = git("blame", ...how, `${from}..${to}`, "--", path);
  const fates: (FileFate | undefined)[] = [];
  const owners = new Map<string, number>();
  let head: RegExpExecArray | null = null;
  for (const row of out.split("\n")) {
    if (row.startsWith("\t")) continue;
    head = /^([0-9a-f]{40}) (\d+) (\d+)/.exec(row) ?? head;
    if (!row.startsWith("filename ") || head?.[1] !== to) continue;
    const place = {
      kind: "surviving",
      path: row.slice("filename ".length),
      line: Number(head[2]),
    } as const;
    fates[Number(head[3]) - 1] = place;
    const key = `${place.path}:${place.line}`;
    owners.set(key, (owners.get(key) ?? 0) + 1);
  }
  const others = new Set<string>();
  const words: string[][] = [];
  for (const [file, text] of now) {
    for (const [n, line] of text.entries()) {
      if (owners.has(`${file}:${n + 1}`)) continue;
      const some = wordsOf(line).words;
      const key = some.join(" ");
      if (some.length > 0 && !others.has(key)) words.push([...some]);
      others.add(key);
    }
  }
  const index = new Map<string, number[]>();
  for (const [n, some] of words.entries()) {
    for (const word of new Set(some)) index.getOrInsert(word, []).push(n);
  }
  const isDecided = decidedRuns(path, fates, lines, then, now);
  return lines.map((line, n): FileFate => {
    const fate = fates[n];
    if (fate?.kind === "surviving") {
      const isOne = owners.get(`${fate.path}:${fate.line}`) === 1;
      return isOne && isDecided.has(n) ? fate : { kind: "undecided" };
    }
    const own = [...wordsOf(line).words];
    if (own.length === 0 || others.has(own.join(" "))) return { kind: "undecided" };
    return { kind: isAlike(own, words, index) ? "rewritten" : "gone" };
  });
}

/** The lines that went, with those around them, to one place, where they had not been. */
function decidedRuns(
  path: string,
  fates: readonly (FileFate | undefined)[],
  lines: readonly string[],
  then: Texts,
  now: Texts,
): ReadonlySet<number> {
  const flat = (some: readonly string[]): string =>
    `\n${some.map((line) => line.replaceAll(/\s/g, "")).join("\n")}\n`;
  const [before, after] = [then, now].map(
    (texts) => new Map([...texts].map(([name, text]) => [name, flat(text)])),
  );
  const decided = new Set<number>();
  for (let from = 0; from < lines.length;) {
    const first = fates[from];
    let to = from + 1;
    if (first?.kind === "surviving") {
      const goesOn = (fate: FileFate | undefined): boolean =>
        fate?.kind === "surviving" &&
        fate.path === first.path &&
        fate.line === first.line + to - from;
      while (to < lines.length && goesOn(fates[to])) to++;
      const run = flat(lines.slice(from, to));
      const places = [...(after ?? [])].filter(([, text]) => text.includes(run));
      const sources = [...(before ?? [])].filter(
        ([name, text]) => name !== path && text.includes(run),
      );
      if (places.length <= 1 && sources.length === 0)
        for (let n = from; n < to; n++) decided.add(n);
    }
    from = to;
  }
  return decided;
}

/** Whether some other line has half of the words. */
function isAlike(
  own: readonly string[],
  words: readonly string[][],
  index: ReadonlyMap<string, number[]>,
): boolean {
  const times = Map.groupBy(own, (word) => word);
  const both = new Map<number, number>();
  for (const [word, some] of times) {
    for (const n of index.get(word) ?? []) {
      const has = words[n]?.filter((other) => other === word).length ?? 0;
      both.set(n, (both.get(n) ?? 0) + Math.min(some.length, has));
    }
  }
  for (const [n, count] of both) {
    if ((2 * count) / (own.length + (words[n]?.length ?? 0)) >= WORDS_LEFT) return true;
  }
  return false;
}

/** The file that has most of the lines; the empty text if none has any, undefined if that is not clear. */
function mostly(fates: readonly FileFate[]): string | undefined {
  const some = fates.filter((fate) => fate.kind === "surviving");
  const byPath = [...Map.groupBy(some, ({ path }) => path)].toSorted(
    ([, one], [, other]) => other.length - one.length,
  );
  const [best, second] = byPath;
  if (best === undefined)
    return fates.every(({ kind }) => kind === "gone" || kind === "undecided") ? "" : undefined;
  const [path, lines] = best;
  if (lines.length * 2 < fates.length || lines.length < 2 * (second?.[1].length ?? 0))
    return undefined;
  return path;
}

function spread<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, all.length / most);
  return Array.from(
    { length: Math.min(most, all.length) },
    (_, n) => all[Math.floor(n * step)],
  ).filter((one) => one !== undefined);
}

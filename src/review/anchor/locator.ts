import { nextTurn } from "../../base/event-loop.ts";
import type { Anchor } from "../../store/review/review-thread.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import { findRepository, headCommit } from "../repository.ts";
import { readable } from "./anchor.ts";
import { blobId, FileText, isBinary, linesOf, textOf } from "./file-text.ts";
import { findQuote, findThrough, GONE, LineMatcher, type LinePosition } from "./line-position.ts";
import { Git } from "../../git/git.ts";

/** Commented lines in the current work tree. */
export interface LocatedLines extends LinePosition {
  /** Relative to the root; differs from the anchor's path if the file was renamed. */
  readonly path: string;
}

interface Version {
  readonly blob: string;
  readonly text: FileText;
}

/** Bytes of all versions of all files that are compared. Beyond that, only the first and the last. */
const MOST_BYTES = 128 * 1024 * 1024;
/** Bytes of a text that is compared line by line: millions of empty lines take hundreds of megabytes. */
const LARGEST_COMPARED = 8 * 1024 * 1024;

/** Finds the lines of many comments in one work tree. Each file is read and compared once. */
export class Locator {
  readonly #root: string;
  readonly #reviews: Reviews;
  readonly #renames: Renames;
  readonly #history: FileHistory;
  readonly #head: string | undefined;
  readonly #present = new Map<string, Version | undefined>();
  readonly #before = new Map<string, Promise<FileText | undefined>>();
  readonly #chains = new Map<string, Promise<readonly LineMatcher[]>>();
  readonly #steps = new Map<string, LineMatcher>();
  #bytesLeft = MOST_BYTES;

  constructor(root: string, reviews: Reviews) {
    this.#root = root;
    this.#reviews = reviews;
    this.#renames = new Renames(root);
    this.#history = new FileHistory(root);
    const repository = findRepository(root);
    this.#head = repository && headCommit(repository);
  }

  async locate(anchor: Anchor): Promise<LocatedLines> {
    const { path, side, blob, commit, line, end = line } = anchor;
    const here = side === "old" ? undefined : this.#presentAt(path);
    // The old side is in a commit, which does not change.
    if (side === "old" || (here !== undefined && here.blob === blob)) {
      const made = { path, confidence: "exact", method: "diff" } as const;
      return line === undefined || end === undefined ? made : { ...made, line, end };
    }
    const before = await this.#textOf(blob);
    const now = here === undefined ? await this.#renames.follow(path, commit, before?.lines) : path;
    const present = now === undefined ? undefined : this.#presentAt(now);
    if (now === undefined || present === undefined) return { ...GONE, path };
    return { ...(await this.#position(anchor, before, present, now)), path: now };
  }

  /** Finds lines in the present version, through the versions in between if they may tell more. */
  async #position(
    anchor: Anchor,
    text: FileText | undefined,
    present: Version,
    now: string,
  ): Promise<LinePosition> {
    const { path, blob, commit, line, end = line } = anchor;
    if (line === undefined || end === undefined) return { confidence: "exact", method: "diff" };
    if (text === undefined || blob === undefined || !isCompared(present)) {
      if (anchor.quote !== undefined) return findQuote(anchor, present.text.lines);
      // An imported comment may have only a line number.
      if (end > present.text.lines.length) return GONE;
      return { line, end, confidence: "low", method: "none" };
    }
    const before = { blob, text };
    const direct = this.#step(before, present).find(line - 1, end - 1);
    const isSince = commit !== undefined && commit !== this.#head;
    if (direct.confidence === "exact" || !isSince) return direct;
    const chain = await this.#chainOf(before, commit, [path, now], present);
    return chain.length === 0 ? direct : findThrough(chain, line - 1, end - 1);
  }

  /** The steps through the versions of a file in the commits since the comment. */
  #chainOf(
    before: Version,
    commit: string,
    paths: readonly string[],
    present: Version,
  ): Promise<readonly LineMatcher[]> {
    const key = [before.blob, commit, ...paths].join("\0");
    return this.#chains.getOrInsertComputed(key, async () => {
      const between = await this.#versionsSince(commit, paths);
      return between.length === 0 ? [] : this.#chain([before, ...between, present]);
    });
  }

  async #versionsSince(commit: string, paths: readonly string[]): Promise<Version[]> {
    const blobs = await this.#history.since(commit, [...new Set(paths)]);
    const texts = await Promise.all(
      blobs.map(async (blob) => ({ blob, text: await this.#history.text(blob) })),
    );
    return texts.flatMap(({ blob, text }) => (text === undefined ? [] : [{ blob, text }]));
  }

  /** The steps from version to version; none if comparing them would take too long. */
  #chain(versions: readonly Version[]): LineMatcher[] {
    const changed = versions.filter(({ blob }, at) => blob !== versions[at - 1]?.blob);
    this.#bytesLeft -= changed.reduce((sum, { text }) => sum + text.size, 0);
    if (this.#bytesLeft < 0) return [];
    return changed.slice(1).map((now, at) => this.#step(changed[at] ?? now, now));
  }

  /** Comments on one file, and on its later versions, share most steps. */
  #step(before: Version, now: Version): LineMatcher {
    const key = `${before.blob} ${now.blob}`;
    return this.#steps.getOrInsertComputed(key, () => new LineMatcher(before.text, now.text));
  }

  #presentAt(path: string): Version | undefined {
    return this.#present.getOrInsertComputed(path, () => {
      const content = readable(this.#root, path);
      return content && { blob: blobId(content), text: new FileText(content) };
    });
  }

  #textOf(blob: string | undefined): Promise<FileText | undefined> {
    if (blob === undefined) return Promise.resolve(undefined);
    return this.#before.getOrInsertComputed(blob, async () => {
      const content = await this.#reviews.text(blob);
      return content && new FileText(content);
    });
  }
}

function isCompared({ text }: Version): boolean {
  return text.size <= LARGEST_COMPARED;
}

/** A comment on an older commit is looked for in the first and the last text only. */
const MOST_COMMITS = 2_000;
/** Of a file with more versions since the comment, this many are compared, evenly distributed. */
const MOST_VERSIONS = 100;
/** The most commits outside of the first-parent history: each costs a call of git. */
const MOST_OTHERS = 16;
/** Git looks only at these paths; with more of them, at all. */
const MOST_PATHS = 500;
/** Blobs that are read by one call of git. */
const MOST_BLOBS = 500;
const LARGEST = 1024 * 1024;
/** The most untracked files that are searched for a renamed one. */
const MOST_CANDIDATES = 200;
/**
 * Files that share more lines than this count as the same file. Git uses the same measure
 * (git-diff(1), `-M`).
 */
const LEAST_ALIKE = 0.5;

/** A file that a commit changed. */
interface Change {
  /** Number of commits after it. */
  readonly age: number;
  readonly blob: string;
}

/** The history of files along the first parents, commit by commit. */
export class FileHistory {
  readonly #git: Git;
  readonly #wanted = new Map<string, Set<string>>();
  readonly #texts = new Map<string, Promise<FileText | undefined>>();
  #changes: Promise<Changes> | undefined;
  #blobs: Set<string> | undefined;
  #reading: Promise<Map<string, FileText>> | undefined;

  constructor(root: string) {
    this.#git = new Git(root);
  }

  /**
   * The blobs of a file in the commits since one, oldest first. `paths` are its names in that time.
   * Empty if git cannot tell. Requests of one turn of the event loop share the calls of git.
   */
  async since(commit: string, paths: readonly string[]): Promise<readonly string[]> {
    const wanted = this.#wanted.getOrInsert(commit, new Set());
    for (const path of paths) wanted.add(path);
    this.#changes ??= nextTurn().then(() => {
      this.#changes = undefined;
      const all = new Map(this.#wanted);
      this.#wanted.clear();
      return this.#ask(all).catch(() => NOTHING);
    });
    const { ages, byPath } = await this.#changes;
    const age = ages.get(commit);
    if (age === undefined) return [];
    const changes = paths
      .flatMap((path) => byPath.get(path) ?? [])
      .filter((change) => change.age < age)
      .toSorted((one, other) => other.age - one.age);
    return thinned(changes.map(({ blob }) => blob));
  }

  /** The text of a blob; undefined if it is too large, binary or cannot be read. */
  text(blob: string): Promise<FileText | undefined> {
    const known = this.#texts.get(blob);
    if (known !== undefined) return known;
    const blobs = (this.#blobs ??= new Set());
    blobs.add(blob);
    this.#reading ??= nextTurn().then(() => {
      [this.#blobs, this.#reading] = [undefined, undefined];
      return this.#read([...blobs]);
    });
    const asked = this.#reading.then((texts) => texts.get(blob));
    this.#texts.set(blob, asked);
    return asked;
  }

  async #ask(wanted: ReadonlyMap<string, ReadonlySet<string>>): Promise<Changes> {
    const ages = await this.#agesOf([...wanted.keys()]);
    const oldest = Math.max(0, ...ages.values());
    if (oldest === 0) return { ages, byPath: new Map() };
    const paths = [...new Set([...wanted.values()].flatMap((some) => [...some]))];
    const how = ["--first-parent", "-m", "--no-renames", "--raw", "-z", "--no-abbrev"];
    const range = ["--format=%H", `--max-count=${oldest}`, "HEAD", "--"];
    const only = paths.length > MOST_PATHS ? [] : paths.map((path) => `:(top,literal)${path}`);
    // With paths, --max-count would count only the commits that change them.
    const args = ["log", ...how, "--full-history", "--sparse", ...range, ...only];
    const { stdout } = await this.#git.run(args);
    return { ages, byPath: changesIn(stdout) };
  }

  /** The number of commits since each, along the first parents. */
  async #agesOf(commits: readonly string[]): Promise<Map<string, number>> {
    const line = ["rev-list", "--first-parent", `--max-count=${MOST_COMMITS}`, "HEAD", "--"];
    const all = (await this.#git.text(line)).split("\n");
    const ages = new Map<string, number>();
    const known = new Map(all.map((commit, age) => [commit, age]));
    const others: string[] = [];
    for (const commit of commits) {
      const age = known.get(commit);
      if (age === undefined) others.push(commit);
      else ages.set(commit, age);
    }
    // A commit of a branch that was merged, or of another branch.
    for (const commit of others.slice(0, MOST_OTHERS)) {
      const range = ["--end-of-options", `${commit}..HEAD`, "--"];
      const args = ["rev-list", "--first-parent", "--count", ...range];
      const { code, stdout } = await this.#git.run(args, { accepts: [0, 128] });
      const age = Number(stdout.toString("latin1"));
      if (code === 0 && age <= MOST_COMMITS) ages.set(commit, age);
    }
    return ages;
  }

  async #read(blobs: readonly string[]): Promise<Map<string, FileText>> {
    const texts = new Map<string, FileText>();
    for (let at = 0; at < blobs.length; at += MOST_BLOBS) {
      const some = blobs.slice(at, at + MOST_BLOBS);
      const input = some.map((blob) => `${blob}\n`).join("");
      // Together they may be too large; what is not read is not compared.
      const { stdout } = await this.#git
        .run(["cat-file", "--batch"], { input })
        .catch(() => ({ stdout: Buffer.alloc(0) }));
      for (const [blob, content] of blobsIn(stdout)) {
        if (content.length <= LARGEST && !isBinary(content)) {
          texts.set(blob, new FileText(content));
        }
      }
    }
    return texts;
  }
}

interface Changes {
  readonly ages: ReadonlyMap<string, number>;
  readonly byPath: ReadonlyMap<string, readonly Change[]>;
}

const NOTHING: Changes = { ages: new Map(), byPath: new Map() };

/** The output of `git log --raw -z`: commits, each with the files that it changed. */
function changesIn(log: Buffer): Map<string, Change[]> {
  const byPath = new Map<string, Change[]>();
  const fields = log.toString("utf8").split("\0");
  let age = -1;
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? "";
    const [, blob] = /^\n?:\d+ (?:100\d+|120000) [0-9a-f]+ ([0-9a-f]+) [AMT]$/.exec(field) ?? [];
    if (blob !== undefined) {
      const path = fields[++at] ?? "";
      byPath.getOrInsert(path, []).push({ age, blob });
    } else if (/^\n?:/.test(field)) at++;
    else if (field !== "") age++;
  }
  return byPath;
}

function* blobsIn(batch: Buffer): Generator<[string, Buffer]> {
  for (let from = 0; from < batch.length;) {
    const line = batch.indexOf("\n", from);
    const head = batch.toString("latin1", from, line);
    const [, blob, size] = /^([0-9a-f]+) blob (\d+)$/.exec(head) ?? [];
    if (blob === undefined) {
      from = line + 1;
      continue;
    }
    const to = line + 1 + Number(size);
    yield [blob, batch.subarray(line + 1, to)];
    from = to + 1;
  }
}

/** The last one always stays. */
function thinned(blobs: readonly string[]): readonly string[] {
  const step = Math.ceil(blobs.length / MOST_VERSIONS);
  return step <= 1 ? blobs : blobs.filter((_, at) => (blobs.length - 1 - at) % step === 0);
}

/** Finds renamed files of a work tree, by git or by content. */
class Renames {
  readonly #root: string;
  readonly #git: Git;
  readonly #byCommit = new Map<string, Promise<Map<string, string>>>();
  #untracked: Promise<string[]> | undefined;

  constructor(root: string) {
    this.#root = root;
    this.#git = new Git(root);
  }

  /** The new path of a file that no longer exists; undefined if it was deleted. */
  async follow(
    path: string,
    commit: string | undefined,
    before: readonly string[] | undefined,
  ): Promise<string | undefined> {
    const renamed = commit === undefined ? undefined : (await this.#since(commit)).get(path);
    if (renamed !== undefined) return renamed;
    return before === undefined ? undefined : this.#amongUntracked(before);
  }

  #since(commit: string): Promise<Map<string, string>> {
    return this.#byCommit.getOrInsertComputed(commit, () => this.#ask(commit));
  }

  async #ask(commit: string): Promise<Map<string, string>> {
    const how = ["-M", "--diff-filter=R", "--name-status", "-z"];
    const args = ["diff", ...how, "--end-of-options", commit, "--"];
    const { code, stdout } = await this.#git.run(args, { accepts: [0, 128] });
    const renames = new Map<string, string>();
    if (code !== 0) return renames;
    const fields = stdout.toString("utf8").split("\0");
    for (let at = 0; at + 2 < fields.length; at += 3) {
      const [, from = "", to = ""] = fields.slice(at, at + 3);
      renames.set(from, to);
    }
    return renames;
  }

  async #amongUntracked(before: readonly string[]): Promise<string | undefined> {
    this.#untracked ??= this.#listUntracked();
    const wanted = new Set(before.filter((line) => line.trim() !== ""));
    if (wanted.size === 0) return undefined;
    let best: string | undefined;
    let most = LEAST_ALIKE;
    for (const path of (await this.#untracked).slice(0, MOST_CANDIDATES)) {
      const content = readable(this.#root, path);
      if (content === undefined || content.length > LARGEST || isBinary(content)) continue;
      const lines = new Set(linesOf(textOf(content)));
      const share = wanted.intersection(lines).size / Math.max(wanted.size, lines.size);
      if (share > most) [best, most] = [path, share];
    }
    return best;
  }

  async #listUntracked(): Promise<string[]> {
    const args = ["ls-files", "--others", "--exclude-standard", "-z"];
    const { stdout } = await this.#git.run(args, { accepts: [0, 128] });
    return stdout.toString("utf8").split("\0").filter(Boolean);
  }
}

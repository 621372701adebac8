import type { Reviews } from "../../store/review/reviews.ts";
import type { Anchor } from "../../store/review/review-thread.ts";
import { readable } from "./anchor.ts";
import { FileHistory } from "./file-history.ts";
import { blobId, linesOf, textOf } from "./file-lines.ts";
import { findThrough } from "./follow-versions.ts";
import { LineNumbers } from "./line-numbers.ts";
import { GONE, findLines, type LinePosition, LineMatcher } from "./line-position.ts";
import type { PositionCache } from "./position-cache.ts";
import { Renames } from "./renames.ts";
import { findRepository, headCommit } from "../repository.ts";

/** Commented lines in the current work tree. */
export interface LocatedLines extends LinePosition {
  /** Relative to the root; differs from the anchor's path if the file was renamed. */
  readonly path: string;
}

interface Present {
  readonly blob: string;
  readonly lines: readonly string[];
}

/** Most files have not changed, and then only the blob is needed. */
class PresentFile implements Present {
  readonly blob: string;
  readonly #content: Uint8Array;
  #lines: readonly string[] | undefined;

  constructor(content: Uint8Array) {
    this.blob = blobId(content);
    this.#content = content;
  }

  get lines(): readonly string[] {
    return (this.#lines ??= linesOf(textOf(this.#content)));
  }
}

/** Lines of all versions of all files that are compared. Beyond that, only the first and the last. */
const MOST_LINES = 4_000_000;

function stepKey(before: Present, now: Present): string {
  return `${before.blob} ${now.blob}`;
}

/** Finds the lines of many comments in one work tree. Each file is read and compared once. */
export class Locator {
  readonly #root: string;
  readonly #reviews: Reviews;
  readonly #cache: PositionCache | undefined;
  readonly #renames: Renames;
  readonly #history: FileHistory;
  readonly #present = new Map<string, Present | undefined>();
  readonly #before = new Map<string, Promise<readonly string[] | undefined>>();
  readonly #numbers = new LineNumbers();
  readonly #steps = new Map<string, LineMatcher>();
  #linesLeft = MOST_LINES;
  #repository: { readonly head: string | undefined } | undefined;

  constructor(root: string, reviews: Reviews, cache?: PositionCache) {
    this.#cache = cache;
    this.#root = root;
    this.#reviews = reviews;
    this.#renames = new Renames(root);
    this.#history = new FileHistory(root);
  }

  async locate(anchor: Anchor): Promise<LocatedLines> {
    const { line, end = line, side, blob, commit } = anchor;
    const asMade = { path: anchor.path, confidence: "exact", method: "diff" } as const;
    const lines = line === undefined || end === undefined ? {} : { line, end };
    // The old side is in a commit, which does not change.
    if (side === "old") return { ...asMade, ...lines };
    const here = this.#presentAt(anchor.path);
    if (here !== undefined && here.blob === blob) return { ...asMade, ...lines };
    const path =
      here === undefined
        ? await this.#renames.follow(anchor.path, commit, await this.#textOf(blob))
        : anchor.path;
    const present = path === undefined ? undefined : this.#presentAt(path);
    if (path === undefined || present === undefined) return { ...GONE, path: anchor.path };
    if (line === undefined || end === undefined) return { ...asMade, path };
    const isSince = commit !== undefined && commit !== this.#head();
    const range = isSince ? `${commit}..${this.#head()}` : "";
    const key = `${range} ${blob} ${present.blob} ${anchor.path}`;
    const known = this.#cache?.get(key, line, end);
    if (known !== undefined) return { path, ...known };
    const before = await this.#textOf(blob);
    if (before === undefined || blob === undefined) {
      // An imported comment may have only a line number.
      if (anchor.quote !== undefined)
        return { path, ...findLines(anchor, undefined, present.lines) };
      const isThere = end <= present.lines.length;
      return isThere ? { path, line, end, confidence: "low", method: "none" } : { ...GONE, path };
    }
    const first = { blob, lines: before };
    let position = this.#step(first, present).find(line - 1, end - 1);
    if (isSince && position.confidence !== "exact") {
      // If that is not certain, look at the commits in between.
      const between = await this.#between(commit, anchor.path, path);
      const chain = between.length === 0 ? [] : this.#chain([first, ...between, present]);
      if (chain.length > 0) position = findThrough(chain, line - 1, end - 1);
    }
    this.#cache?.set(key, line, end, position);
    return { path, ...position };
  }

  /** The versions of a file in the commits since the comment. */
  async #between(commit: string, ...paths: string[]): Promise<Present[]> {
    const blobs = await this.#history.since(commit, [...new Set(paths)]);
    const texts = await Promise.all(
      blobs.map(async (blob) => ({ blob, lines: await this.#history.text(blob) })),
    );
    return texts.flatMap(({ blob, lines }) => (lines === undefined ? [] : [{ blob, lines }]));
  }

  /** The steps from version to version; none if comparing them would take too long. */
  #chain(versions: readonly Present[]): LineMatcher[] {
    const changed = versions.filter(({ blob }, at) => blob !== versions[at - 1]?.blob);
    const pairs = changed.slice(1).map((next, at) => [changed[at] ?? next, next] as const);
    const fresh = pairs.filter(([before, now]) => !this.#steps.has(stepKey(before, now)));
    const cost = fresh.reduce((sum, [before, now]) => {
      return sum + before.lines.length + now.lines.length;
    }, 0);
    if (cost > this.#linesLeft) return [];
    this.#linesLeft -= cost;
    return pairs.map(([before, now]) => this.#step(before, now));
  }

  /** Comments on one file, and on its later versions, share most steps. */
  #step(before: Present, now: Present): LineMatcher {
    const key = stepKey(before, now);
    const matcher = this.#steps.get(key) ?? new LineMatcher(before.lines, now.lines, this.#numbers);
    this.#steps.set(key, matcher);
    return matcher;
  }

  #head(): string | undefined {
    if (this.#repository === undefined) {
      const found = findRepository(this.#root);
      this.#repository = { head: found === undefined ? undefined : headCommit(found) };
    }
    return this.#repository.head;
  }

  #presentAt(path: string): Present | undefined {
    if (this.#present.has(path)) return this.#present.get(path);
    const content = readable(this.#root, path);
    const present = content === undefined ? undefined : new PresentFile(content);
    this.#present.set(path, present);
    return present;
  }

  #textOf(blob: string | undefined): Promise<readonly string[] | undefined> {
    if (blob === undefined) return Promise.resolve(undefined);
    const known = this.#before.get(blob);
    if (known !== undefined) return known;
    const asked = this.#reviews
      .text(blob)
      .then((content) => (content === undefined ? undefined : linesOf(textOf(content))));
    this.#before.set(blob, asked);
    return asked;
  }
}

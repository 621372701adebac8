import type { Reviews } from "../../store/review/reviews.ts";
import type { Anchor } from "../../store/review/review-thread.ts";
import { readable } from "./anchor.ts";
import { FileHistory } from "./file-history.ts";
import { blobId, linesOf, textOf } from "./file-lines.ts";
import { findThrough } from "./follow-versions.ts";
import { LineNumbers } from "./line-numbers.ts";
import { GONE, findLines, type LinePosition, LineMatcher } from "./line-position.ts";
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

/** Finds the lines of many comments in one work tree. Each file is read and compared once. */
export class Locator {
  readonly #root: string;
  readonly #reviews: Reviews;
  readonly #renames: Renames;
  readonly #history: FileHistory;
  readonly #present = new Map<string, Present | undefined>();
  readonly #before = new Map<string, Promise<readonly string[] | undefined>>();
  readonly #numbers = new LineNumbers();
  readonly #steps = new Map<string, LineMatcher>();
  #repository: { readonly head: string | undefined } | undefined;

  constructor(root: string, reviews: Reviews) {
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
    const before = await this.#textOf(blob);
    const path =
      here === undefined ? await this.#renames.follow(anchor.path, commit, before) : anchor.path;
    const present = path === undefined ? undefined : this.#presentAt(path);
    if (path === undefined || present === undefined) return { ...GONE, path: anchor.path };
    if (line === undefined || end === undefined) return { ...asMade, path };
    if (before === undefined || blob === undefined) {
      // An imported comment may have only a line number.
      if (anchor.quote !== undefined)
        return { path, ...findLines(anchor, undefined, present.lines) };
      const isThere = end <= present.lines.length;
      return isThere ? { path, line, end, confidence: "low", method: "none" } : { ...GONE, path };
    }
    const first = { blob, lines: before };
    const direct = this.#step(first, present).find(line - 1, end - 1);
    const isCertain = direct.confidence === "exact";
    if (isCertain || commit === undefined || commit === this.#head()) return { path, ...direct };
    // If that is not certain, look at the commits in between.
    const between = await this.#between(commit, anchor.path, path);
    if (between.length === 0) return { path, ...direct };
    const chain = this.#chain([first, ...between, present]);
    return { path, ...findThrough(chain, line - 1, end - 1) };
  }

  /** The versions of a file in the commits since the comment. */
  async #between(commit: string, ...paths: string[]): Promise<Present[]> {
    const blobs = await this.#history.since(commit, [...new Set(paths)]);
    const texts = await Promise.all(
      blobs.map(async (blob) => ({ blob, lines: await this.#history.text(blob) })),
    );
    return texts.flatMap(({ blob, lines }) => (lines === undefined ? [] : [{ blob, lines }]));
  }

  #chain(versions: readonly Present[]): LineMatcher[] {
    const changed = versions.filter(({ blob }, at) => blob !== versions[at - 1]?.blob);
    return changed.slice(1).map((next, at) => this.#step(changed[at] ?? next, next));
  }

  /** Comments on one file, and on its later versions, share most steps. */
  #step(before: Present, now: Present): LineMatcher {
    const key = `${before.blob} ${now.blob}`;
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
    const present =
      content === undefined
        ? undefined
        : { blob: blobId(content), lines: linesOf(textOf(content)) };
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

import type { Reviews } from "../../store/review/reviews.ts";
import type { Anchor } from "../../store/review/review-thread.ts";
import { readable } from "./anchor.ts";
import { FileHistory } from "./file-history.ts";
import { blobId, linesOf, textOf } from "./file-lines.ts";
import {
  GONE,
  findLines,
  type LinePosition,
  LineMatcher,
  VersionMatcher,
} from "./line-position.ts";
import { Renames } from "./renames.ts";

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
  readonly #matchers = new Map<string, LineMatcher>();
  readonly #versionMatchers = new Map<string, VersionMatcher>();

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
    const key = `${blob} ${path}`;
    const matcher = this.#matchers.get(key) ?? new LineMatcher(before, present.lines);
    this.#matchers.set(key, matcher);
    const direct = matcher.find(line - 1, end - 1);
    if (direct.confidence === "exact" || commit === undefined) return { path, ...direct };
    // If that is not certain, look at the commits in between.
    const between = await this.#history.since(commit, path);
    if (between.length === 0) return { path, ...direct };
    const way = `${key} ${commit}`;
    const versionMatcher =
      this.#versionMatchers.get(way) ?? new VersionMatcher([before, ...between, present.lines]);
    this.#versionMatchers.set(way, versionMatcher);
    return { path, ...versionMatcher.find(line - 1, end - 1) };
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

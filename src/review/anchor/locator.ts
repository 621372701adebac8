import type { Anchor } from "../../store/review/review-thread.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import { findRepository, headCommit } from "../repository.ts";
import { readable } from "./anchor.ts";
import { FileHistory, Renames } from "./file-history.ts";
import { blobId, FileText } from "./file-text.ts";
import { findQuote, findThrough, GONE, LineMatcher, type LinePosition } from "./line-position.ts";

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

import type { Reviews } from "../../store/review/reviews.ts";
import type { IndexBlobs } from "../../git/index-blobs.ts";
import type { Anchor } from "../../store/review/review-thread.ts";
import { readable } from "./anchor.ts";
import { FileHistory } from "./file-history.ts";
import { blobId } from "./file-lines.ts";
import { FileText } from "./file-text.ts";
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

/** A version of a file that was commented on. */
type Place = Pick<Anchor, "path" | "side" | "blob" | "commit">;

/** The lines of a comment, and what they were. */
type Lines = Omit<Anchor, keyof Place>;

interface Version {
  readonly blob: string;
  readonly text: FileText;
  /** Of a file whose blob may not be known yet. */
  readonly name?: string;
}

/** A file as it is now. */
class Present implements Version {
  readonly text: FileText;
  readonly name: string;
  readonly #path: string;
  readonly #index: LocatorOptions["index"];
  #blob: string | undefined;

  constructor(path: string, content: Uint8Array, index: LocatorOptions["index"]) {
    this.text = new FileText(content);
    this.name = `./${path}`;
    this.#path = path;
    this.#index = index;
  }

  /** Found out only if it is needed: loading Node's SHA-1 takes longer than finding many comments. */
  get blob(): string {
    return (this.#blob ??= this.#index?.()?.blobOf(this.#path) ?? blobId(this.text.content));
  }

  /** Whether it is the version with a blob, whose text may be known. */
  is(blob: string | undefined, text: Uint8Array | undefined): boolean {
    if (text === undefined) return this.blob === blob;
    return Buffer.compare(this.text.content, text) === 0;
  }
}

/** Bytes of all versions of all files that are compared. Beyond that, only the first and the last. */
const MOST_BYTES = 128 * 1024 * 1024;
/** Bytes of a text that is compared line by line: millions of empty lines take hundreds of megabytes. */
const LARGEST_COMPARED = 8 * 1024 * 1024;

function stepKey(before: Version, now: Version): string {
  return `${before.blob} ${now.name ?? now.blob}`;
}

export interface LocatorOptions {
  readonly cache?: PositionCache | undefined;
  /** Opens the index of the work tree, or has it already. */
  readonly index?: (() => IndexBlobs | undefined) | undefined;
  /** Texts that were commented on and have been read already, by their blobs. */
  readonly texts?: ReadonlyMap<string, Uint8Array> | undefined;
}

/** Finds the lines of many comments in one work tree. Each file is read and compared once. */
export class Locator {
  readonly #root: string;
  readonly #reviews: Reviews;
  readonly #cache: PositionCache | undefined;
  readonly #index: LocatorOptions["index"];
  readonly #texts: LocatorOptions["texts"];
  readonly #present = new Map<string, Present | undefined>();
  readonly #before = new Map<string, Promise<FileText | undefined>>();
  /** By the path of a file when it was commented on. */
  readonly #numbers = new Map<string, LineNumbers>();
  readonly #steps = new Map<string, LineMatcher>();
  #bytesLeft = MOST_BYTES;
  /** Made when they are needed, as most files are neither renamed nor doubtful. */
  #madeRenames: Renames | undefined;
  #madeHistory: FileHistory | undefined;
  #repository: { readonly head: string | undefined } | undefined;

  constructor(root: string, reviews: Reviews, { cache, index, texts }: LocatorOptions = {}) {
    this.#cache = cache;
    this.#index = index;
    this.#texts = texts;
    this.#root = root;
    this.#reviews = reviews;
  }

  async locate(anchor: Anchor): Promise<LocatedLines> {
    const [found] = await this.locateAll(anchor, [anchor]);
    return found ?? { ...GONE, path: anchor.path };
  }

  /** Finds the lines of all comments on one version of a file, in the order of `comments`. */
  async locateAll(place: Place, comments: readonly Lines[]): Promise<LocatedLines[]> {
    const { side, blob, commit } = place;
    const here = side === "old" ? undefined : this.#presentAt(place.path);
    // The old side is in a commit, which does not change.
    if (side === "old" || here?.is(blob, this.#texts?.get(blob ?? "")) === true) {
      return comments.map((comment) => asMade(comment, place.path));
    }
    const path =
      here === undefined
        ? await this.#renames.follow(place.path, commit, (await this.#textOf(blob))?.lines)
        : place.path;
    const present = path === undefined ? undefined : this.#presentAt(path);
    if (path === undefined || present === undefined) {
      return comments.map(() => ({ ...GONE, path: place.path, dependsOn: "files" }));
    }
    const positions = await this.#positions(place, comments, present, path);
    return positions.map(({ line, end, confidence, method, dependsOn }): LocatedLines => {
      // Built in place, because lists have thousands.
      const found: { -readonly [K in keyof LocatedLines]: LocatedLines[K] } = {
        path,
        confidence,
        method,
      };
      if (line !== undefined && end !== undefined) {
        found.line = line;
        found.end = end;
      }
      if (here === undefined) found.dependsOn = "files";
      else if (dependsOn !== undefined) found.dependsOn = dependsOn;
      return found;
    });
  }

  /** Finds lines in the present version, through the versions in between where they may tell more. */
  async #positions(
    place: Place,
    comments: readonly Lines[],
    present: Version,
    presentPath: string,
  ): Promise<readonly LinePosition[]> {
    const { path, blob, commit } = place;
    const text = await this.#textOf(blob);
    if (text === undefined || blob === undefined || !isCompared(present.text)) {
      return comments.map((comment) => withoutText(comment, place, present.text));
    }
    const before = { blob, text };
    const direct = this.#step(before, present, path);
    const isSince = commit !== undefined && commit !== this.#head();
    const doubtful: number[] = [];
    const found = comments.map(({ line, end = line }, at) => {
      if (line === undefined || end === undefined) return WHOLE_FILE;
      const position = direct.find(line - 1, end - 1);
      if (commit === undefined || position.confidence === "exact") return position;
      if (isSince && direct.isSettled(line - 1, end - 1, position)) return position;
      if (isSince) doubtful.push(at);
      return ofCommits(position);
    });
    if (doubtful.length === 0) return found;
    const key = `${commit}..${this.#head()} ${blob} ${present.blob} ${path}`;
    const unknown = doubtful.filter((at) => {
      const { line = 1, end = line } = comments[at] ?? {};
      const known = this.#cache?.get(key, line, end);
      if (known !== undefined) found[at] = ofCommits(known);
      return known === undefined;
    });
    const chain =
      unknown.length === 0 ? [] : await this.#between(place, before, present, presentPath);
    for (const at of unknown) {
      const { line = 1, end = line } = comments[at] ?? {};
      const position = chain.length === 0 ? found[at] : findThrough(chain, line - 1, end - 1);
      if (position === undefined) continue;
      found[at] = ofCommits(position);
      this.#cache?.set(key, line, end, position);
    }
    return found;
  }

  /** The steps through the versions of a file in the commits since the comment. */
  async #between(
    { path, commit = "" }: Place,
    before: Version,
    present: Version,
    presentPath: string,
  ): Promise<LineMatcher[]> {
    const blobs = await this.#history.since(commit, [...new Set([path, presentPath])]);
    const texts = await Promise.all(
      blobs.map(async (blob) => ({ blob, text: await this.#history.text(blob) })),
    );
    const between = texts.flatMap(({ blob, text }) =>
      text === undefined || !isCompared(text) ? [] : [{ blob, text }],
    );
    return between.length === 0 ? [] : this.#chain([before, ...between, present], path);
  }

  /** The steps from version to version; none if comparing them would take too long. */
  #chain(versions: readonly Version[], path: string): LineMatcher[] {
    const changed = versions.filter(({ blob }, at) => blob !== versions[at - 1]?.blob);
    const pairs = changed.slice(1).map((next, at) => [changed[at] ?? next, next] as const);
    const fresh = pairs.filter(([before, now]) => !this.#steps.has(stepKey(before, now)));
    const cost = fresh.reduce((sum, [before, now]) => {
      return sum + before.text.content.length + now.text.content.length;
    }, 0);
    if (cost > this.#bytesLeft) return [];
    this.#bytesLeft -= cost;
    return pairs.map(([before, now]) => this.#step(before, now, path));
  }

  /** Comments on one file, and on its later versions, share most steps. */
  #step(before: Version, now: Version, path: string): LineMatcher {
    const key = stepKey(before, now);
    const known = this.#steps.get(key);
    if (known !== undefined) return known;
    const numbers = this.#numbers.get(path) ?? new LineNumbers();
    this.#numbers.set(path, numbers);
    const matcher = new LineMatcher(before.text, now.text, numbers);
    this.#steps.set(key, matcher);
    return matcher;
  }

  get #renames(): Renames {
    return (this.#madeRenames ??= new Renames(this.#root));
  }

  get #history(): FileHistory {
    return (this.#madeHistory ??= new FileHistory(this.#root));
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
    const present = content && new Present(path, content, this.#index);
    this.#present.set(path, present);
    return present;
  }

  #textOf(blob: string | undefined): Promise<FileText | undefined> {
    if (blob === undefined) return Promise.resolve(undefined);
    const known = this.#before.get(blob);
    if (known !== undefined) return known;
    const read = this.#texts?.get(blob);
    const asked = (read === undefined ? this.#reviews.text(blob) : Promise.resolve(read)).then(
      (content) => (content === undefined ? undefined : new FileText(content)),
    );
    this.#before.set(blob, asked);
    return asked;
  }
}

function isCompared({ content }: FileText): boolean {
  return content.length <= LARGEST_COMPARED;
}

function ofCommits(position: LinePosition): LinePosition {
  return { ...position, dependsOn: "commits" };
}

const WHOLE_FILE: LinePosition = { confidence: "exact", method: "diff" };

/** Lines where they were when the comment was made. */
function asMade({ line, end = line }: Lines, path: string): LocatedLines {
  const made = { path, confidence: "exact", method: "diff" } as const;
  return line === undefined || end === undefined ? made : { ...made, line, end };
}

/** An imported comment may have only a line number. */
function withoutText(comment: Lines, place: Place, now: FileText): LinePosition {
  if (comment.line === undefined) return WHOLE_FILE;
  if (comment.quote !== undefined) return findLines({ ...place, ...comment }, undefined, now);
  const { line, end = line } = comment;
  const isThere = line !== undefined && end !== undefined && end <= now.lines.length;
  return isThere ? { line, end, confidence: "low", method: "none" } : GONE;
}

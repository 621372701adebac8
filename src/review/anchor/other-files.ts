import { basename, extname } from "node:path";

import { FileText } from "./file-text.ts";
import { LineMatcher, type LinePosition } from "./line-position.ts";
import { lineWords, trackLines } from "./track-lines.ts";

/** A version of a file that may have got lines of another one. */
export interface OtherFile {
  readonly path: string;
  readonly blob: string;
  readonly text: FileText;
  /** The same file before; undefined if it is new. */
  readonly before: FileText | undefined;
}

/** Where lines of a file are in another one. */
export interface OtherFileMatch extends LinePosition {
  readonly file: OtherFile;
  /** The other file is the same one under a new name. */
  readonly isRenamed: boolean;
}

/**
 * Files that share more of their text than this count as the same file. Git uses the same measure
 * (git-diff(1), `-M`).
 */
const LEAST_ALIKE = 0.5;
/** The same for a file that kept its name, in another folder or with another extension. */
const LEAST_OF_NAMESAKE = 0.25;
/** The share of a file that the largest of its parts has to have. */
const LEAST_PART = 0.3;
/** Letters and digits of lines that may have come from another file, as for git (git-blame(1), `-C`). */
const LEAST_MOVED = 40;
/** Lines around the commented ones, one of which the other file must have. */
const AROUND = 3;
/** Words that are compared together: single ones are in every file. */
const TOGETHER = 4;

/** Finds where the lines of a file went that is gone, or has lost them. Each file is compared once. */
export class OtherFiles {
  readonly #path: string;
  readonly #text: FileText;
  readonly #others: readonly FileComparison[];

  constructor(path: string, blob: string, text: FileText, others: readonly OtherFile[]) {
    this.#path = path;
    this.#text = text;
    const same = others.filter((other) => other.blob === blob);
    const compared = (same.length > 0 ? same : others).map(
      (other) => new FileComparison(text, other),
    );
    this.#others = compared.toSorted(
      (one, other) =>
        other.likeness - one.likeness ||
        nameLikeness(path, other.file.path) - nameLikeness(path, one.file.path),
    );
  }

  /** The file that has most of this one. */
  get whole(): OtherFileMatch | undefined {
    const [best] = this.#others;
    if (best === undefined) return undefined;
    const { file, part } = best;
    const isRenamed = this.#isRenamed(best);
    if (!isRenamed && part < LEAST_PART) return undefined;
    return { file, isRenamed, confidence: isRenamed ? "high" : "low", method: "quote" };
  }

  /** `first` and `last` count from 0. */
  find(first: number, last: number): OtherFileMatch | undefined {
    const around = this.#text.keys.slice(Math.max(0, first - AROUND), last + 1 + AROUND);
    let best: OtherFileMatch | undefined;
    let most = -1;
    for (const other of this.#others) {
      const isRenamed = this.#isRenamed(other);
      if (!isRenamed && !around.some((key) => key !== "" && other.added.has(key))) continue;
      const position = other.find(first, last);
      if (position.line === undefined) continue;
      const moved = other.lettersAround(first, position.line - 1);
      if ((!isRenamed && moved < LEAST_MOVED) || moved <= most) continue;
      const isExact = position.confidence === "exact";
      const confidence = isExact && !isRenamed ? "high" : position.confidence;
      [best, most] = [{ ...position, confidence, file: other.file, isRenamed }, moved];
    }
    return best;
  }

  #isRenamed({ likeness, file }: FileComparison): boolean {
    const isNamesake = stem(file.path) === stem(this.#path);
    return likeness > (isNamesake ? LEAST_OF_NAMESAKE : LEAST_ALIKE) && file.before === undefined;
  }
}

/** A text and another file's. */
class FileComparison {
  readonly file: OtherFile;
  /** The share of text that both have. */
  readonly likeness: number;
  /** The share of the text that the other file has. */
  readonly part: number;
  readonly #text: FileText;
  #added: ReadonlySet<string> | undefined;
  #lines: { readonly text: FileText; readonly at: readonly number[] } | undefined;
  #matcher: LineMatcher | undefined;

  constructor(text: FileText, file: OtherFile) {
    this.file = file;
    this.#text = text;
    const [old, now] = [runsOfWords(text), runsOfWords(file.text)];
    const both = old.intersection(now).size;
    this.likeness = both / Math.max(1, old.size, now.size);
    this.part = both / Math.max(1, old.size);
  }

  /** The keys of lines that the other file did not have before. */
  get added(): ReadonlySet<string> {
    const { text, before } = this.file;
    return (this.#added ??= new Set(text.keys).difference(new Set(before?.keys)));
  }

  find(first: number, last: number): LinePosition {
    const { text, at } = this.#newLines;
    this.#matcher ??= new LineMatcher(this.#text, text);
    const found = this.#matcher.find(first, last);
    if (found.line === undefined) return found;
    const { line, end = line } = found;
    return { ...found, line: (at[line - 1] ?? 0) + 1, end: (at[end - 1] ?? 0) + 1 };
  }

  /** Letters and digits of the equal lines around a pair of lines. */
  lettersAround(from: number, to: number): number {
    const [old, now] = [this.#text.keys, this.file.text.keys];
    let letters = 0;
    const count = (step: number, start: number): void => {
      for (let n = start; old[from + n] === now[to + n] && old[from + n] !== undefined; n += step) {
        letters += old[from + n]?.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
      }
    };
    count(-1, 0);
    count(1, 1);
    return letters;
  }

  get #newLines(): { readonly text: FileText; readonly at: readonly number[] } {
    return (this.#lines ??= newLines(this.file));
  }
}

/** The lines that a file did not have before, and their places. */
function newLines({ text, before }: OtherFile): { text: FileText; at: readonly number[] } {
  if (before === undefined) return { text, at: [...text.lines.keys()] };
  const kept = new Set(trackLines(before, text).map);
  const at = [...text.lines.keys()].filter((line) => !kept.has(line));
  return { text: FileText.of(at.map((line) => text.lines[line] ?? "")), at };
}

const runs = new WeakMap<FileText, ReadonlySet<string>>();

/** The words of a text, several together, wherever its lines break. */
function runsOfWords(text: FileText): ReadonlySet<string> {
  return runs.getOrInsertComputed(text, () => {
    const { words } = lineWords(text.lines);
    return new Set(words.map((_, at) => words.slice(at, at + TOGETHER).join(" ")));
  });
}

function stem(path: string): string {
  return basename(path, extname(path)).toLowerCase();
}

/** Of many files, those whose names are most alike are looked at. */
export function nameLikeness(one: string, other: string): number {
  const isNamesake = stem(one) === stem(other) ? 4 : 0;
  const isKin = extname(one) === extname(other) ? 2 : 0;
  return isNamesake + isKin + (one.split("/")[0] === other.split("/")[0] ? 1 : 0);
}

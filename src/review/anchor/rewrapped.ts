import { mapLines, numberLines } from "./line-map.ts";

/** The words of consecutive lines, each with the index of its line. */
export interface LineWords {
  readonly words: readonly string[];
  readonly lines: readonly number[];
}

/** Letters and digits are one word, every other character is one too. */
const WORD = /[\p{L}\p{N}_$]+|[^\s'"`;,()]/gu;
/**
 * The marks around a line of a comment, which re-wrapping moves to other words. Of many stars, only the
 * first begins a mark: looking from each of them would take minutes for a line of a megabyte.
 */
const MARK = /^\s*(?:\/\/+|\/?\*+\/?(?=\s|$)|#+(?=\s|$))|(?<!\*)\*+\/\s*$/g;

/** The words of lines. Characters that a formatter adds and removes are left out. */
export function lineWords(lines: readonly string[]): LineWords {
  const found = lines.map((line) => line.replace(MARK, "").match(WORD) ?? []);
  return { words: found.flat(), lines: found.flatMap((words, at) => words.map(() => at)) };
}

/** The lines of the new text that hold the words of an old line. */
export interface Rewrapped {
  readonly from: number;
  readonly to: number;
  /** Whether words were added or removed, too. */
  readonly isEdited: boolean;
}

/** The share of a line's words that must still be there. */
const LEAST_LEFT = 0.8;
/** Words of a line that is easily found by chance. */
const FEW = 3;
/** Words. A longer region is not compared word by word. */
const MOST_WORDS = 40_000;

/**
 * Finds the words of lines that were broken or joined differently, within regions of two texts.
 * Only lines of which nearly all words are there, close to each other, are found.
 */
export function rewrapped(
  before: readonly string[],
  now: readonly string[],
): Map<number, Rewrapped> {
  const found = new Map<number, Rewrapped>();
  // Nearly every line has a word.
  if (before.length + now.length > MOST_WORDS) return found;
  const [old, next] = [lineWords(before), lineWords(now)];
  if (old.words.length === 0 || next.words.length === 0) return found;
  if (old.words.length + next.words.length > MOST_WORDS) return found;
  const map = mapLines(numberLines(old.words, next.words));
  const known = new KnownWords(map, next.lines, now.length);
  for (let first = 0; first < old.words.length;) {
    let end = first + 1;
    while (old.lines[end] === old.lines[first]) end++;
    const place = placeOf(map.subarray(first, end), next.lines, known);
    if (place !== undefined) found.set(old.lines[first] ?? 0, place);
    first = end;
  }
  return found;
}

function placeOf(
  map: Int32Array,
  lines: readonly number[],
  known: KnownWords,
): Rewrapped | undefined {
  const left = map.filter((at) => at >= 0);
  const [first = 0] = left;
  const last = left.at(-1) ?? 0;
  if (left.length < map.length * LEAST_LEFT) return undefined;
  // Common words are found in any text, but then far from each other.
  if (last - first + 1 > map.length / LEAST_LEFT + 1) return undefined;
  const [from, to] = [lines[first] ?? 0, lines[last] ?? 0];
  const old = known.shareOf(from, to);
  // One or two words prove little, unless the line around them has old words only.
  if (map.length < FEW && old < LEAST_LEFT) return undefined;
  const isWhole = left.length === map.length && last - first + 1 === map.length;
  return { from, to, isEdited: !isWhole || old < 1 };
}

/** Counts the old words on new lines. They are summed up once: a line may have the words of thousands. */
class KnownWords {
  /** The words before each line, and before the end. */
  readonly #words: Int32Array;
  /** The old words among them. */
  readonly #old: Int32Array;

  /** `lines` has the line of each new word, and `map` the new word of each old one. */
  constructor(map: Int32Array, lines: readonly number[], count: number) {
    this.#words = new Int32Array(count + 1);
    this.#old = new Int32Array(count + 1);
    const known = new Set(map);
    for (let at = 0; at < lines.length; at++) {
      const next = (lines[at] ?? 0) + 1;
      this.#words[next] = (this.#words[next] ?? 0) + 1;
      if (known.has(at)) this.#old[next] = (this.#old[next] ?? 0) + 1;
    }
    for (let at = 1; at <= count; at++) {
      this.#words[at] = (this.#words[at] ?? 0) + (this.#words[at - 1] ?? 0);
      this.#old[at] = (this.#old[at] ?? 0) + (this.#old[at - 1] ?? 0);
    }
  }

  /** The share of old words on lines, the last one included. */
  shareOf(from: number, to: number): number {
    const between = (sums: Int32Array): number => (sums[to + 1] ?? 0) - (sums[from] ?? 0);
    return between(this.#old) / between(this.#words);
  }
}

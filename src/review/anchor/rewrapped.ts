import { mapLines } from "./line-map.ts";
import { type LineWords, lineWords } from "./line-words.ts";

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
  const map = mapLines(old.words, next.words);
  const known = new Set(map);
  for (let first = 0; first < old.words.length;) {
    let end = first + 1;
    while (old.lines[end] === old.lines[first]) end++;
    const place = placeOf(map.subarray(first, end), next, known);
    if (place !== undefined) found.set(old.lines[first] ?? 0, place);
    first = end;
  }
  return found;
}

function placeOf(
  map: Int32Array,
  next: LineWords,
  known: ReadonlySet<number>,
): Rewrapped | undefined {
  const left = map.filter((at) => at >= 0);
  const [first = 0] = left;
  const last = left.at(-1) ?? 0;
  if (left.length < map.length * LEAST_LEFT) return undefined;
  // Common words are found in any text, but then far from each other.
  if (last - first + 1 > map.length / LEAST_LEFT + 1) return undefined;
  const [from, to] = [next.lines[first] ?? 0, next.lines[last] ?? 0];
  const old = shareKnown(from, to, first, next.lines, known);
  // One or two words prove little, unless the line around them has old words only.
  if (map.length < FEW && old < LEAST_LEFT) return undefined;
  const isWhole = left.length === map.length && last - first + 1 === map.length;
  return { from, to, isEdited: !isWhole || old < 1 };
}

/** The share of old words on the new lines around a word. */
function shareKnown(
  from: number,
  to: number,
  word: number,
  lines: readonly number[],
  known: ReadonlySet<number>,
): number {
  let first = word;
  while ((lines[first - 1] ?? -1) >= from) first--;
  let count = 0;
  let old = 0;
  for (let at = first; (lines[at] ?? Infinity) <= to; at++) {
    count++;
    if (known.has(at)) old++;
  }
  return old / count;
}

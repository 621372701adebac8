import { mapLines } from "./line-map.ts";
import { type LineWords, lineWords } from "./line-words.ts";

/** The lines of the new text that hold the words of an old line. */
export interface Rewrapped {
  readonly from: number;
  readonly to: number;
}

/** The share of a line's words that must still be there. */
const LEAST_LEFT = 0.8;
/** Words. A longer region is not compared word by word. */
const MOST_WORDS = 40_000;

/**
 * Finds the words of lines that were broken or joined differently, within a region of both texts.
 * Only lines of which nearly all words are there, close to each other, are found.
 */
export function rewrapped(
  before: readonly string[],
  [oldFrom, oldTo]: readonly [number, number],
  now: readonly string[],
  [newFrom, newTo]: readonly [number, number],
): Map<number, Rewrapped> {
  const found = new Map<number, Rewrapped>();
  const old = lineWords(before, oldFrom, oldTo);
  const next = lineWords(now, newFrom, newTo);
  if (old.words.length === 0 || next.words.length === 0) return found;
  if (old.words.length + next.words.length > MOST_WORDS) return found;
  const map = mapLines(old.words, next.words);
  for (let first = 0; first < old.words.length;) {
    let end = first + 1;
    while (old.lines[end] === old.lines[first]) end++;
    const place = placeOf(map.subarray(first, end), next);
    if (place !== undefined) found.set(old.lines[first] ?? 0, place);
    first = end;
  }
  return found;
}

function placeOf(map: Int32Array, next: LineWords): Rewrapped | undefined {
  const left = map.filter((at) => at >= 0);
  const [first = 0] = left;
  const last = left.at(-1) ?? 0;
  if (left.length < map.length * LEAST_LEFT) return undefined;
  // Common words are found in any text, but then far from each other.
  if (last - first + 1 > map.length / LEAST_LEFT + 1) return undefined;
  return { from: next.lines[first] ?? 0, to: next.lines[last] ?? 0 };
}
